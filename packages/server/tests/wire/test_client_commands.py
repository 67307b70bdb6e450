"""The commands that call a server, against a real server process on twins."""

import hashlib
import io
import json
import os
import pty
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rookery.cli import main as frame
from rookery.core.books import demo_path
from rookery.core.client.client import Client
from tests.submissions import SPRT, body
from tests.twins.sites import PASSWORD
from tests.wire.processes import Server

pytestmark = pytest.mark.usefixtures("surroundings")


def test_the_commands_submit_show_and_stop(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(body(book_sri=None)))
    words = ["submit", str(file), "--sprt=0,2", "--games=4000", "--set", "auto_purge=true"]
    assert frame.main(words) == 0
    said = capsys.readouterr()
    assert "Warning: book_sri" in said.err
    run_id = said.out.split()[2].rstrip(",")
    assert said.out.endswith(f": {os.environ['ROOKERY_SERVER']}/runs/{run_id}\n")
    assert frame.main(["runs", "show", run_id]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("idea vs master by ada: pending\nLLR: 0.00 ")
    assert frame.main(["runs", "list", "--owner=ada"]) == 0
    (line,) = [each for each in capsys.readouterr().out.splitlines() if run_id in each]
    assert "0/4000" in line
    assert frame.main(["runs", "stop", run_id[:22], "--message=enough"]) == 0
    assert capsys.readouterr().out == f"Run {run_id} is finished.\n"


def test_the_beginning_of_an_id_must_name_one_run(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = client.submit(body()).id, client.submit(body()).id
    common = one[: next(i for i in range(24) if one[i] != other[i])]
    assert frame.main(["runs", "show", common]) == 2
    assert f"Several runs begin with {common}: " in capsys.readouterr().err
    assert frame.main(["runs", "show", "0123456"]) == 2
    assert "There is no run whose id begins with 0123456." in capsys.readouterr().err


def test_what_is_wrong_with_a_field_is_told_as_its_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(body(sprt=SPRT)))
    assert frame.main(["submit", str(file), "--priority=5000"]) == 2
    assert "rookery: --priority: expected -1000 to 1000." in capsys.readouterr().err


def test_a_person_is_asked_about_an_expensive_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(body(sprt=SPRT)))
    before = len(Client.at(os.environ["ROOKERY_SERVER"]).runs(size=200).runs)
    with at_terminal("n\n", monkeypatch):
        assert frame.main(["submit", str(file)]) == 1
    assert "core hours. Submit it? [y/n]" in capsys.readouterr().err
    with at_terminal("y\n", monkeypatch):
        assert frame.main(["submit", str(file)]) == 0
    assert len(Client.at(os.environ["ROOKERY_SERVER"]).runs(size=200).runs) == before + 1


@contextmanager
def at_terminal(typed: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A person whose standard input is a real terminal, in which this was typed."""
    keyboard, screen = pty.openpty()
    os.write(keyboard, typed.encode())
    with monkeypatch.context() as changed, os.fdopen(screen) as terminal:
        changed.setattr("sys.stdin", terminal)
        yield
    os.close(keyboard)


def test_two_programs_are_uploaded_and_play_each_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new, base = tmp_path / "new", tmp_path / "base"
    new.write_bytes(b"\x7fELF new" * 300_000)
    base.write_bytes(b"\x7fELF base")
    words = ["submit", f"--new={new}", f"--base={base}", "--tc=N=1000", "--json", "--untried"]
    assert frame.main(words) == 0
    run_id = json.loads(capsys.readouterr().out)["id"]
    assert frame.main(["runs", "show", run_id, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["new_tag"], shown["base_tag"], shown["kind"]) == ("new", "base", "sprt")
    assert shown["args"]["new_binary"] == hashlib.sha256(new.read_bytes()).hexdigest()
    assert "binary" in shown["needs"]


def test_a_book_is_given_listed_and_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine+90.epd"
    file.write_bytes(demo_path().read_bytes())
    assert frame.main(["book", "add", str(file)]) == 0
    assert capsys.readouterr().out == "Uploaded mine+90.epd: 96 openings.\n"
    assert frame.main(["book", "list"]) == 0
    assert "mine+90.epd" in capsys.readouterr().out
    assert frame.main(["book", "remove", "mine+90.epd"]) == 0
    assert frame.main(["book", "remove", "mine+90.epd"]) == 3
    assert "There is no book mine+90.epd" in capsys.readouterr().err
    assert frame.main(["book", "add", str(tmp_path / "no.epd")]) == 2


def test_programs_of_one_name_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [tmp_path / folder / "engine" for folder in ("a", "b")]
    for file in files:
        file.parent.mkdir()
        file.write_text(f"#!{file.parent.name}")
    words = ["submit", f"--new={files[0]}", f"--base={files[1]}", "--json", "--untried"]
    assert frame.main(words) == 0
    assert frame.main(["runs", "list", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out.splitlines()[-1])["runs"][0]
    assert shown["new_tag"].startswith("engine-")
    assert shown["new_tag"] != shown["base_tag"]


def test_the_commands_answer_scripts_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    flags = [
        "--new=idea",
        "--base=master",
        f"--new-commit={'a' * 40}",
        f"--base-commit={'b' * 40}",
        "--new-bench=2050811",
        "--base-bench=2050812",
        "--repo=https://github.com/olga/Stockfish",
        "--tc=10+0.1",
        "--book=UHO.epd",
        "--games=2",
    ]
    assert frame.main(["submit", *flags, "--json"]) == 0
    run_id = json.loads(capsys.readouterr().out)["id"]
    assert frame.main(["runs", "show", run_id, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["args"]["num_games"] == 2
    assert frame.main(["runs", "approve", run_id]) == 3
    assert "refuses (403)" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["nothing.json"],
        ["--set", "odd"],
        ["--spsa", "nothing.txt"],
        ["--token-file", "no"],
        ["--new=./nothing", "--base=master"],
    ],
)
def test_what_cannot_be_sent_is_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.main(["submit", *words]) == 2
    assert capsys.readouterr().err.startswith("rookery: ")


def test_the_commands_list_show_and_refuse_engines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert frame.main(["engine", "list"]) == 0
    assert "Fledgling" in capsys.readouterr().out
    assert frame.main(["engine", "show", "Stockfish"]) == 0
    file = tmp_path / "stockfish.json"
    file.write_text(capsys.readouterr().out)
    assert frame.main(["engine", "put", str(file)]) == 3
    assert "refuses (403)" in capsys.readouterr().err
    assert frame.main(["engine", "remove", "Nobody"]) == 3
    assert "refuses (404)" in capsys.readouterr().err
    file.write_text("{}")
    assert frame.main(["engine", "put", str(file)]) == 2
    assert "name" in capsys.readouterr().err


def test_an_import_replaces_what_is_named_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert frame.main(["team", "create", "winds"]) == 0
    for name in ("Mistral", "Stockfish"):
        (tmp_path / f"{name}.json").write_text('{"source": "https://x.example/w"}')
    words = ["engine", "import", str(tmp_path / "Mistral.json"), "--team=winds", "--put"]
    assert frame.main(words) == 0
    assert frame.main(words) == 2
    assert "Mistral: known to the server already" in capsys.readouterr().err
    assert frame.main([*words, "--replace", "Mistral"]) == 0
    everything = ["engine", "import", str(tmp_path), "--team=winds", "--put", "--replace=Stockfish"]
    assert frame.main(everything) == 2
    assert "Stockfish: built in, which no import replaces" in capsys.readouterr().err
    assert frame.main(["engine", "history", "Mistral"]) == 0
    assert capsys.readouterr().out.count("https://x.example/w") == 2
    assert frame.main(["engine", "undo", "Mistral"]) == 0
    assert frame.main(["engine", "restore", "Mistral", "0"]) == 0
    assert frame.main(["engine", "show", "Mistral"]) == 3


def test_the_commands_make_a_team(capsys: pytest.CaptureFixture[str]) -> None:
    assert frame.main(["team", "create", "owls"]) == 0
    assert capsys.readouterr().out == "owls: ada\n"
    assert frame.main(["team", "add", "owls", "nobody"]) == 3
    assert "refuses (404)" in capsys.readouterr().err
    assert frame.main(["team", "add", "owls", "ada", "--lead", "--json"]) == 0
    assert '"leads":["ada"]' in capsys.readouterr().out
    assert frame.main(["team", "remove", "owls", "ada"]) == 3
    assert "refuses (409)" in capsys.readouterr().err
    assert frame.main(["team", "list"]) == 0
    assert "owls" in capsys.readouterr().out


def test_the_commands_look_into_a_run(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    run_id = client.submit(body(sprt=SPRT)).id
    assert frame.main(["runs", "diagnosis", run_id]) == 0
    assert capsys.readouterr().out.startswith("awaiting approval: an approver must")
    heads = {"samples": "time", "residuals": "worker", "bad-tasks": "task", "provenance": "task"}
    for command, head in {**heads, "games": "task"}.items():
        assert frame.main(["runs", command, run_id]) == 0
        assert capsys.readouterr().out.startswith(head)
        assert frame.main(["runs", command, run_id, "--json"]) == 0
        assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_the_commands_stop_a_run_reopen_it_and_hide_it(
    client: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = client.submit(body(sprt=SPRT)).id
    assert frame.main(["runs", "withdraw", run_id]) == 3
    for command, state in (("stop", "finished"), ("reopen", "pending"), ("delete", "finished")):
        capsys.readouterr()
        assert frame.main(["runs", command, run_id]) == 0
        assert capsys.readouterr().out == f"Run {run_id} is {state}.\n"
    assert frame.main(["runs", "restore", run_id]) == 0
    assert frame.main(["runs", "purge", run_id]) == 0
    assert "0 tasks with 0 games are purged." in capsys.readouterr().out


def test_the_commands_list_machines_and_block_none_that_nobody_knows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert frame.main(["machine", "list"]) == 0
    assert capsys.readouterr().out.startswith("machine")
    for words in (["show"], ["block", "--message=hot"]):
        assert frame.main(["machine", *words, "ada-4cores-abcdef01"]) == 3
        assert "refuses (404)" in capsys.readouterr().err
    assert frame.main(["machine", "unblock", "olga-4cores-abcdef01"]) == 3
    assert "refuses (403)" in capsys.readouterr().err


def test_the_commands_show_and_change_ones_account(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fork = "https://github.com/ada/Stockfish"
    assert frame.main(["me", "repository", "Stockfish", fork]) == 0
    assert capsys.readouterr().out == f"Your repository of Stockfish is {fork}.\n"
    assert frame.main(["me", "show"]) == 0
    assert capsys.readouterr().out.endswith(f"Stockfish: {fork}\n")
    assert frame.main(["me", "repository", "Stockfish", "--forget"]) == 0
    assert capsys.readouterr().out == "You use Stockfish's usual repository.\n"
    assert frame.main(["me", "repository", "Stockfish"]) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("wrong\nwalnut orbit pickle tram\n"))
    assert frame.main(["me", "password", "--password-stdin"]) == 3
    assert "present password" in capsys.readouterr().err


def test_the_commands_make_a_token_on_a_server_and_revoke_it(
    server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    there = [f"--server={server.address}"]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    words = ["--user=ada", "--worker", "--days=3", "--note=cellar", "--password-stdin"]
    assert frame.main(["token", "create", *words, *there]) == 0
    told, secret = capsys.readouterr().out.splitlines()
    assert secret.startswith("rkw_")
    assert frame.main(["token", "list", *there]) == 0
    listed = capsys.readouterr().out
    assert "cellar" in listed
    assert secret not in listed
    assert frame.main(["token", "revoke", told.split()[1], *there, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["valid"] is False


def test_the_commands_remove_a_net(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "some.bin"
    file.write_bytes(b"weights")
    assert frame.main(["net", "upload", str(file), "--json"]) == 0
    name = json.loads(capsys.readouterr().out)["name"]
    assert frame.main(["net", "remove", name]) == 0
    assert capsys.readouterr().out == f"Removed {name}.\n"
    assert frame.main(["net", "remove", name]) == 3
