"""What the flags of commands do on a real server process on twins."""

import json
import os
import urllib.request
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from rookery.cli import main as frame
from rookery.core.books import demo_path
from rookery.core.client.client import Client
from rookery.core.model.engine import EngineRecord
from tests.submissions import SPRT, body
from tests.twins.sites import PASSWORD
from tests.wire.app_under_test import APPROVER_TOKEN
from tests.wire.processes import running_server
from tests.wire.test_client_commands import at_terminal
from tests.wire.test_watch import Heard
from tests.wire.worker.farm import worker_info

pytestmark = pytest.mark.usefixtures("surroundings")
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def file(tmp_path: Path) -> str:
    """A run as a file describes it."""
    place = tmp_path / "run.json"
    place.write_text(json.dumps(body(sprt=SPRT)))
    return str(place)


@pytest.fixture
def approver(client: Client, monkeypatch: pytest.MonkeyPatch) -> Client:
    """An approver types the commands of this test; Ada's client is left to it."""
    monkeypatch.setenv("ROOKERY_TOKEN", APPROVER_TOKEN.secret)
    return client


def done(*words: str) -> None:
    assert frame.main(list(words)) == 0


def asked(capsys: Capture, *words: str) -> Any:
    capsys.readouterr()
    done(*words, "--json")
    return json.loads(capsys.readouterr().out)


def fetched(path: str) -> Any:
    with urllib.request.urlopen(os.environ["ROOKERY_SERVER"] + path) as answer:
        return json.load(answer)


FIELDS = {
    "--new=fast": ("new_tag", "fast"),
    "--base=slow": ("base_tag", "slow"),
    f"--new-commit={'c' * 40}": ("resolved_new", "c" * 40),
    f"--base-commit={'d' * 40}": ("resolved_base", "d" * 40),
    "--new-bench=11": ("new_signature", "11"),
    "--base-bench=12": ("base_signature", "12"),
    "--repo=https://github.com/ada/Fish": ("tests_repo", "https://github.com/ada/Fish"),
    "--tc=20+0.2": ("tc", "20+0.2"),
    "--new-tc=30+0.3": ("new_tc", "30+0.3"),
    "--book=other.epd": ("book", "other.epd"),
    "--new-options=Hash=32 A=1": ("new_options", "Hash=32 A=1"),
    "--base-options=Hash=32 B=1": ("base_options", "Hash=32 B=1"),
    "--info=a better idea": ("info", "a better idea"),
    "--games=20": ("num_games", 20),
    "--threads=2": ("threads", 2),
    "--priority=-3": ("priority", -3),
    "--throughput=50": ("throughput", 50),
    "--set=auto_purge=true": ("auto_purge", True),
}


@pytest.mark.parametrize("flag", FIELDS)
def test_a_run_has_what_the_flags_say(flag: str, file: str, capsys: Capture) -> None:
    field, value = FIELDS[flag]
    run_id = asked(capsys, "submit", file, flag)["id"]
    assert asked(capsys, "runs", "show", run_id)["args"][field] == value


def test_a_book_whose_hash_is_given_is_not_warned_about(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps(body(sprt=SPRT, book_sri=None)))
    done("submit", str(file))
    assert "Warning: book_sri" in capsys.readouterr().err
    done("submit", str(file), f"--book-sri={'s' * 64}")
    assert "Warning: book_sri" not in capsys.readouterr().err


def test_a_run_has_the_bounds_that_the_flag_says(file: str, capsys: Capture) -> None:
    run_id = asked(capsys, "submit", file, "--sprt=-2,1.5")["id"]
    test = asked(capsys, "runs", "show", run_id)["args"]["sprt"]
    assert (test["elo0"], test["elo1"]) == (-2, 1.5)


def test_a_run_tunes_the_parameters_that_the_flag_names(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "lines.txt").write_text("Tempo,12,0,80,5,0.002")
    (tmp_path / "tune.json").write_text(json.dumps(body(base_tag="idea", base_signature="2050811")))
    words = ("submit", str(tmp_path / "tune.json"), f"--spsa={tmp_path / 'lines.txt'}")
    run_id = asked(capsys, *words)["id"]
    assert asked(capsys, "runs", "show", run_id)["kind"] == "spsa"


def count_runs() -> int:
    return len(Client.at(os.environ["ROOKERY_SERVER"]).runs(size=200).runs)


def test_a_dry_run_submits_nothing(file: str, capsys: Capture) -> None:
    before = count_runs()
    done("submit", file, "--dry-run")
    assert "core hours" in capsys.readouterr().out
    assert count_runs() == before


def test_who_says_yes_before_is_not_asked(
    file: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with at_terminal("n\n", monkeypatch):
        done("submit", file, "--yes")
    assert "Submit it?" not in capsys.readouterr().err


def test_a_submission_waits_for_the_verdict_where_that_is_asked_for(
    file: str, client: Client
) -> None:
    def stop() -> None:
        client.stop(client.runs(size=1).runs[0].id)

    with redirect_stdout(Heard(stop)) as heard:
        assert frame.main(["submit", file, "--wait"]) == 4
    assert heard.getvalue().endswith("The run is finished: undecided.\n")


def listed(capsys: Capture, *words: str) -> list[str]:
    return [run["id"] for run in asked(capsys, "runs", "list", *words)["runs"]]


def test_runs_are_listed_by_state(client: Client, capsys: Capture) -> None:
    waiting, stopped = client.submit(body()).id, client.submit(body()).id
    client.stop(stopped)
    finished = listed(capsys, "--state=finished", "--size=200")
    assert (stopped in finished, waiting in finished) == (True, False)
    assert stopped not in listed(capsys, "--size=200")


def test_runs_are_listed_by_owner(
    client: Client, approver: Client, capsys: Capture, file: str
) -> None:
    adas, boris = client.submit(body()).id, asked(capsys, "submit", file)["id"]
    found = listed(capsys, "--owner=boris", "--size=200")
    assert (boris in found, adas in found) == (True, False)


def test_runs_are_listed_by_pages_of_a_size(client: Client, capsys: Capture) -> None:
    ids = [client.submit(body()).id for _ in range(4)]
    assert listed(capsys, "--size=2") == [ids[3], ids[2]]
    assert listed(capsys, "--size=2", "--page=2") == [ids[1], ids[0]]


def test_a_result_is_told_in_the_style_that_is_asked_for(client: Client, capsys: Capture) -> None:
    run_id = client.submit(body(sprt=SPRT)).id
    done("runs", "show", run_id, "--style=openbench")
    shown = capsys.readouterr().out
    assert "LLR   |" in shown


def test_the_reason_for_a_stop_is_in_the_log(client: Client) -> None:
    run_id = client.submit(body()).id
    done("runs", "stop", run_id, "--message=wrong branch")
    (entry, *_) = fetched(f"/api/v1/actions?run_id={run_id}")["actions"]
    assert entry["message"] == "wrong branch"


def test_an_approver_says_which_records_they_saw(client: Client, approver: Client) -> None:
    client.create_team("strixes")
    strix = EngineRecord(name="Strix", team="strixes")
    client.put_engine(strix)
    run_id = client.submit(body(new_engine="Strix")).id
    client.put_engine(replace(strix, share=2))
    seen = client.run(run_id).records
    assert frame.main(["runs", "approve", run_id]) == 3
    assert frame.main(["runs", "approve", run_id, f"--records={'f' * 16}"]) == 3
    done("runs", "approve", run_id, f"--records={seen}")


def call_as_worker(path: str) -> None:
    content = {"password": PASSWORD, "worker_info": worker_info("ada", key="cafe0123")}
    request = urllib.request.Request(
        f"{os.environ['ROOKERY_SERVER']}/api/{path}",
        json.dumps(content).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        answer.read()


def test_the_reason_for_a_block_is_shown_to_the_machines_owner(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests count the machines of the server that they share.
    with running_server(tmp_path) as own:
        monkeypatch.setenv("ROOKERY_SERVER", own.address)
        for path in ("request_version", "request_task"):
            call_as_worker(path)
        done("machine", "block", "ada-8cores-cafe0123", "--message=too hot")
        done("machine", "show", "ada-8cores-cafe0123")
    assert "blocked: too hot" in capsys.readouterr().out


@pytest.mark.parametrize(("words", "leads"), [((), ["ada"]), (("--lead",), ["ada", "boris"])])
def test_a_member_leads_a_team_where_that_is_asked_for(
    words: tuple[str, ...], leads: list[str], capsys: Capture
) -> None:
    name = f"kites{len(words)}"
    done("team", "create", name)
    assert sorted(asked(capsys, "team", "add", name, "boris", *words)["leads"]) == leads


def test_a_book_has_the_name_that_it_is_given(capsys: Capture) -> None:
    found = asked(capsys, "book", "add", str(demo_path()), "--name=ours.epd")
    assert found["name"] == "ours.epd"
    done("book", "remove", "ours.epd")


def test_official_books_are_listed_where_that_is_asked_for(capsys: Capture) -> None:
    for words in ((), ("--all",)):
        done("book", "list", *words)
        assert ("official" in capsys.readouterr().out) is bool(words)


def test_a_built_in_engine_is_replaced_where_that_is_asked_for(
    approver: Client, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "fledgling.json"
    done("engine", "show", "Fledgling")
    file.write_text(capsys.readouterr().out)
    assert frame.main(["engine", "put", str(file)]) == 3
    done("engine", "put", str(file), "--replace=Fledgling")
    done("engine", "restore", "Fledgling", "0")


def test_a_login_ends_after_so_many_days(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for days in ((), ("--days=3",)):
        monkeypatch.setattr("sys.stdin", StringIO(f"{PASSWORD}\n"))
        done("login", "--user=ada", "--password-stdin", *days)
        tokens = asked(capsys, "token", "list", f"--server={os.environ['ROOKERY_SERVER']}")
        newest = max(tokens["tokens"], key=lambda each: each["created"])
        assert ("expires" in newest) is bool(days)


def test_who_shows_a_token_in_a_file_is_its_owner(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "token"
    file.write_text(f"{APPROVER_TOKEN.secret}\n")
    assert asked(capsys, "me", "show")["name"] == "ada"
    assert asked(capsys, "me", "show", f"--token-file={file}")["name"] == "boris"
