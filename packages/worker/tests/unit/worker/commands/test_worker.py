"""The words around `rookery worker`: settings, dialogue, unit, display."""

from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

from rookery.cli.main import main
from rookery.core.command import BadArgument, as_words, parse_again
from rookery.core.model.task import Results
from rookery.core.service import quoted
from rookery.worker.commands.settings import (
    NAMES,
    WorkerFlags,
    WorkerSettings,
    credentials,
    from_file,
    worker_settings,
)
from rookery.worker.commands.setup import Person, configure
from rookery.worker.commands.start import PlainDisplay, apply_sandbox
from rookery.worker.commands.worker import unit, worker
from rookery.worker.identity import WorkerIdentity, WorkerOffer
from rookery.worker.sandbox.sandbox import Sandbox
from rookery.worker.stopping import WorkerStatus
from tests.workers.fake_server import FakeServer, fake_server
from tests.workers.fake_system import FakeSystem
from tests.workers.in_process import FACTS


def parsed(*words: str) -> WorkerFlags:
    return cast("WorkerFlags", parse_again(worker, words).get("flags", WorkerFlags()))


def settings(*words: str, file: Path, **environment: str) -> WorkerSettings:
    return worker_settings(parsed(*words), file, environment)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    place = tmp_path / "worker.toml"
    place.write_text('server = "https://one.org"\ngrace = 5\nonly = ["A"]\n')
    return place


def test_flags_go_before_the_file(file: Path) -> None:
    found = settings("--server=https://two.org", "--once", file=file)
    assert (found.server, found.grace, found.only, found.once) == (
        "https://two.org",
        5,
        ("A",),
        True,
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_flag_sets_its_setting(name: str, tmp_path: Path) -> None:
    """Tests of what a worker does begin with its settings."""
    (tmp_path / "worker.toml").touch()
    usual = getattr(WorkerSettings(), name)
    flag = f"--{name.replace('_', '-')}"
    word = flag if isinstance(usual, bool) else f"{flag}=7"
    found = getattr(settings(word, file=tmp_path / "worker.toml"), name)
    assert found not in (usual, None)
    assert str(found) in ("True", "7", "7.0", "('7',)")


def test_the_environment_names_the_server_where_nobody_else_does(tmp_path: Path) -> None:
    empty = tmp_path / "worker.toml"
    empty.write_text("")
    assert settings(file=empty, ROOKERY_SERVER="https://e.org").server == "https://e.org"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("gracious = 1", "gracious"), ("grace = [", "can't be read"), ('grace = "long"', "is wrong")],
)
def test_a_file_that_makes_no_sense_is_named(text: str, complaint: str, tmp_path: Path) -> None:
    place = tmp_path / "worker.toml"
    place.write_text(text)
    with pytest.raises(BadArgument, match=complaint):
        settings(file=place)


def test_a_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="no file"):
        from_file(tmp_path / "none.toml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("rkw_x\n", ("olga", "rkw_x")), ("a word before it:\nboris:rkw_x\n", ("olga", "rkw_x"))],
)
def test_a_token_is_the_last_line_of_its_file(
    text: str, expected: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(text)
    (tmp_path / "worker.toml").touch()
    words = ("--username=olga", f"--token-file={tmp_path / 'token'}")
    assert credentials(settings(*words, file=tmp_path / "worker.toml")) == expected


def test_a_password_is_the_last_line_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from the vault:\nwalnut orbit\n")
    (tmp_path / "worker.toml").touch()
    words = ("--username=olga", f"--password-file={tmp_path / 'secret'}")
    given = settings(*words, file=tmp_path / "worker.toml")
    assert credentials(given) == ("olga", "walnut orbit")


def test_a_token_may_bring_its_name(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("boris:rkw_x")
    assert credentials(WorkerSettings(token_file=str(tmp_path / "token"))) == ("boris", "rkw_x")


@pytest.mark.parametrize("given", [WorkerSettings(), WorkerSettings(password_file="/none")])
def test_without_a_name_and_a_secret_there_is_no_worker(given: WorkerSettings) -> None:
    with pytest.raises(BadArgument):
        credentials(given)


def test_a_unit_starts_the_worker_with_the_same_flags() -> None:
    given = parsed("--server=https://a.org", "--token-file=/a b", "--only=A", "--only=B", "--fleet")
    text = unit(WorkerSettings(grace=10), as_words(given))
    command = next(line for line in text.splitlines() if line.startswith("ExecStart="))
    assert command.endswith(
        ' worker --server=https://a.org "--token-file=/a b" --fleet --only=A --only=B'
    )
    assert "TimeoutStopSec=40" in text


def test_a_unit_is_printed_and_starts_the_worker_with_the_file_that_was_named(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["worker", f"--config={file}", "--once", "--print-systemd-unit"]) == 0
    shown = capsys.readouterr().out
    assert f" worker --once --config={file}\n" in shown
    # The grace period of the file, and what systemd adds to it.
    assert "TimeoutStopSec=35" in shown


def test_signs_of_systemd_are_doubled() -> None:
    assert (quoted("50%"), quoted("a$b"), quoted("plain")) == ('"50%%"', '"a$$b"', "plain")


def test_the_dialogue_writes_a_file_and_hides_the_secret(tmp_path: Path) -> None:
    place, told = tmp_path / "folder" / "worker.toml", list[str]()
    with fake_server(FakeServer()) as server:
        answers = iter([server.address + "/", "", "olga", "", "MAX/2"])
        person = Person(lambda _: next(answers), lambda _: "rkw_secret", told.append)
        assert configure(place, person) == 0
        assert server.of("request_version")[0]["password"] == "rkw_secret"
    assert from_file(place) == {
        "server": server.address,
        "username": "olga",
        "concurrency": "auto",
        "memory": "MAX/2",
        "token_file": str(place.with_name("worker.token")),
    }
    assert place.with_name("worker.token").stat().st_mode & 0o777 == 0o600
    assert not any("rkw_secret" in line for line in told)


def test_the_dialogue_says_when_the_server_refuses(tmp_path: Path) -> None:
    told = list[str]()
    with fake_server(FakeServer(greeting={"error": "unknown user"})) as server:
        answers = iter([server.address, "olga", "", "boris", "2", "auto"])
        person = Person(lambda _: next(answers), lambda _: "wrong", told.append)
        assert configure(tmp_path / "worker.toml", person) == 5
        tried = [body["worker_info"]["username"] for body in server.of("request_version")]
    assert tried == ["olga", "olga", "boris"]
    assert told.count("The server refuses: unknown user") == 3


def test_the_dialogue_asks_again_for_what_can_not_be(tmp_path: Path) -> None:
    told, place = list[str](), tmp_path / "worker.toml"
    with fake_server(FakeServer()) as server:
        answers = iter(
            ["farm.example.org", server.address, "olga", "many", "99/0*", "2", "x", "MAX"]
        )
        person = Person(lambda _: next(answers), lambda _: "secret", told.append)
        assert configure(place, person, FakeSystem()) == 0
    assert told[0] == "An address begins with http:// or https://."
    assert [line for line in told if "is not possible" in line] == [
        "'many' is not possible: write auto, 4, MAX, PHYS-1 or MAX/2.",
        "'99/0*' is not possible: write auto, 4, MAX, PHYS-1 or MAX/2.",
        "'x' is not possible: write auto, 8000, MAX-2000 or MAX/2.",
    ]
    assert "That is 2 of 8 cores." in told
    written = from_file(place)
    assert (written["concurrency"], written["memory"]) == ("2", "MAX")


def test_an_address_that_does_not_answer_is_kept_when_it_is_given_twice(tmp_path: Path) -> None:
    told, nowhere = list[str](), "http://127.0.0.1:1"
    answers = iter([nowhere, "", "olga", "2", "auto"])
    person = Person(lambda _: next(answers), lambda _: "secret", told.append)
    assert configure(tmp_path / "worker.toml", person, FakeSystem()) == 5
    assert told[0] == f"{nowhere} does not answer: Connection refused."
    assert from_file(tmp_path / "worker.toml")["server"] == nowhere


def test_lines_come_when_what_is_done_changes() -> None:
    lines = list[str]()
    shown = PlainDisplay(lines.append, lambda: datetime(2026, 1, 1, 12, 30))  # noqa: DTZ001 - local
    results = Results(1, 0, 1, 1, 0, (0, 0, 0, 1, 0))
    for status in (
        WorkerStatus("playing", "a against b", results, 8),
        WorkerStatus("playing", "a against b", results + results, 8),
        WorkerStatus("sending the games", "a against b"),
    ):
        shown.show(status)
    assert lines == [
        "12:30:00 a against b: playing, 2 of 8 games, +1 -0 =1, pairs 0 0 0 1 0, 1 lost by failure",
        "12:30:00 a against b: sending the games",
    ]


def applied(sandbox: Sandbox, *words: str, file: Path) -> tuple[WorkerIdentity, list[str]]:
    identity, told = WorkerIdentity(WorkerOffer("olga", 1, 1000), FACTS, "key"), list[str]()
    apply_sandbox(sandbox, settings(*words, file=file), identity, told.append)
    return identity, told


def test_a_worker_without_a_sandbox_says_what_it_plays_and_what_would_help(file: Path) -> None:
    identity, (told,) = applied(Sandbox(False, "No walls."), file=file)
    assert identity.bundled_only
    assert "No walls. Install bubblewrap" in told
    assert "--without-sandbox" in told
    assert "plays the bundled engine alone" in told


def test_a_worker_that_may_do_without_a_sandbox_says_so(file: Path) -> None:
    identity, (told,) = applied(Sandbox(False, "No walls.", permitted=True), file=file)
    assert not identity.bundled_only
    assert told == "Other people's programs run without a sandbox on this machine. No walls."


def test_a_worker_with_a_sandbox_has_nothing_to_say(file: Path) -> None:
    identity, told = applied(Sandbox(True), file=file)
    assert (identity.sandbox, identity.bundled_only, told) == (True, False, [])


def test_another_projects_server_is_not_played_for_without_a_sandbox(file: Path) -> None:
    with pytest.raises(BadArgument, match="runs other people's programs in a sandbox only"):
        applied(Sandbox(False, "No walls."), "--foreign-server", file=file)
