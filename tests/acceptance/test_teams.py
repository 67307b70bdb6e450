"""Teams and private engines on a real server with a real database, over a kill."""

import hashlib
import time
from pathlib import Path

import pytest

from rookery.core.client.client import Client
from rookery.core.http_failures import CallRefused
from rookery.core.model.engine import EngineRecord
from rookery.core.protocol import v1
from tests.commands import add_user, run_command
from tests.rookery_process import LIMIT_SECONDS, RookeryProcess, run_rookery
from tests.submissions import SPRT, body

NET = b"a net of the owls" * 100
NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"
STRIX = EngineRecord(name="owls~Strix", team="owls", private=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder in which Olga, and Boris, who may approve, have accounts."""
    folder = tmp_path / "data"
    assert add_user("olga", folder).returncode == 0
    assert add_user("boris", folder, "--approver").returncode == 0
    return folder


def token_of(user: str, data: Path) -> str:
    return run_command("token", "create", "--user", user, data=data).stdout.splitlines()[-1]


def until_hidden(server: RookeryProcess, path: str) -> None:
    """What a command wrote is known to the server a moment later."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while server.get(path)[0] != 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_what_is_private_stays_so_over_a_kill(data: Path, tmp_path: Path) -> None:
    olga, boris = token_of("olga", data), token_of("boris", data)
    with run_rookery(data) as server:
        client = Client.at(server.address, olga)
        client.create_team("owls")
        client.put_engine(STRIX)
        own = body(sprt=SPRT, new_engine="owls~Strix", base_engine="owls~Strix")
        made = client.submit(own)
        file = tmp_path / NAME
        file.write_bytes(NET)
        given = run_command(
            "net", "add", str(file), "--user=olga", "--engine=owls~Strix", data=data
        )
        assert given.returncode == 0, given.stderr
        until_hidden(server, f"/api/nn/{NAME}")
        server.kill()
    with run_rookery(data) as server:
        client, other = Client.at(server.address, olga), Client.at(server.address, boris)
        assert [run.id for run in client.runs().runs] == [made.id]
        assert other.runs().runs == ()
        with pytest.raises(CallRefused, match="404"):
            other.approve(made.id)
        assert server.get(f"/api/nn/{NAME}")[0] == 404
        assert server.get("/api/active_runs") == (200, "{}")
        client.join_team("owls", "boris")
        assert other.approve(made.id).approver == "boris"
        client.stop(made.id)
        assert [run.id for run in other.runs(state=v1.ListedState.FINISHED).runs] == [made.id]
        _, listed = server.get("/api/finished_runs?page=1")
        assert listed == "{}"
