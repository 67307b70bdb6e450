"""Our client and its login, against a real server process on twins."""

import json
import os
from io import StringIO
from pathlib import Path

import pytest

from rookery.cli import main as frame
from rookery.core.client.client import Client
from rookery.core.client.logins import ServerFlags
from rookery.core.http_failures import CallFailed, CallRefused, NoAnswer
from rookery.core.model.plan import Modification
from rookery.core.model.run import DisplayState
from rookery.core.protocol import v1
from tests.submissions import SPRT, body
from tests.twins.sites import PASSWORD
from tests.wire.processes import Server


def test_a_run_is_submitted_listed_and_stopped(client: Client) -> None:
    made = client.submit(body(sprt=SPRT))
    assert made.state is DisplayState.PENDING
    assert made.id in [run.id for run in client.runs(owner="ada").runs]
    assert client.run(made.id).args["tc"] == "10+0.1"
    assert client.summary(made.id, v1.SummaryStyle.OPENBENCH).startswith("SPRT  | ")
    changed = client.modify(made.id, Modification(priority=-2))
    assert changed.priority == -2
    assert client.stop(made.id, "enough").state is DisplayState.FINISHED
    assert client.delete(made.id).deleted
    assert not client.restore(made.id).deleted


def test_a_run_is_followed_and_what_was_told_is_listed(client: Client) -> None:
    made = client.submit(body(sprt=SPRT))
    assert client.follow(made.id).following
    assert not client.follow(made.id, following=False).following
    assert client.channels().channels == ()
    assert client.told().told == ()


def test_everybody_can_be_listed(client: Client) -> None:
    assert [user.name for user in client.users().users] == ["ada", "boris"]
    assert client.workers().workers == ()


def test_a_refusal_is_told_in_the_servers_words(client: Client) -> None:
    with pytest.raises(CallRefused, match=r"\(400\): num_games") as refused:
        client.submit(body(num_games=3))
    assert refused.value.status == 400
    with pytest.raises(CallRefused, match=r"\(404\)"):
        client.run("../../secret")


def test_without_a_token_nothing_is_submitted(server: Server) -> None:
    with pytest.raises(CallRefused, match=r"401.*--token-file"):
        Client.at(server.address).submit(body())


@pytest.mark.parametrize(
    "place", ["http://127.0.0.1:1", "ftp://127.0.0.1", "nonsense", "http://[::1", "http://x y"]
)
def test_where_nobody_answers_is_told(place: str) -> None:
    with pytest.raises(NoAnswer, match="No server answers at"):
        Client.at(place).runs()


def test_what_is_no_rookery_server_is_told(server: Server) -> None:
    class Elsewhere:
        server = "http://elsewhere.example"

        def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
            del method, path, body
            return b"<html>"

        def upload(self, method: str, path: str, file: Path) -> bytes:
            return self.call(method, path + str(file))

    with pytest.raises(CallFailed, match=r"elsewhere.example is not a Rookery server"):
        Client(Elsewhere()).runs()


@pytest.fixture
def empty_home(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Somebody who has never logged in, and names the server in the environment alone."""
    monkeypatch.delenv("ROOKERY_TOKEN", raising=False)
    monkeypatch.setenv("ROOKERY_SERVER", server.address)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def log_in(password: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.stdin", StringIO(f"{password}\n"))
    return frame.main(["login", "--user", "ada", "--password-stdin"])


def test_a_login_is_kept_for_later_commands_until_the_logout(
    empty_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log_in(PASSWORD, monkeypatch) == 0
    file = empty_home / "rookery" / "logins.json"
    assert file.stat().st_mode & 0o777 == 0o600
    server = os.environ["ROOKERY_SERVER"]
    monkeypatch.delenv("ROOKERY_SERVER")
    assert ServerFlags().client.users().users
    kept = json.loads(file.read_bytes())["tokens"][server]["secret"]
    assert frame.main(["logout"]) == 0
    assert capsys.readouterr().out.endswith(f"Logged out from {server}.\n")
    with pytest.raises(CallRefused, match="401"):
        Client.at(server, kept).users()
    assert frame.main(["logout", "--server", server]) == 2


def test_a_token_is_shown_to_its_own_server_alone(
    empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log_in(PASSWORD, monkeypatch) == 0
    same = os.environ["ROOKERY_SERVER"].replace("127.0.0.1", "localhost")
    with pytest.raises(CallRefused, match="401"):
        ServerFlags(same).client.users()


def test_a_wrong_password_keeps_nothing(
    empty_home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log_in("wrong", monkeypatch) == 3
    said = capsys.readouterr().err
    assert said == "rookery: The server refuses (401): Unknown user name or wrong password.\n"
    assert not (empty_home / "rookery").exists()
