"""A real server with a real database, driven as scripts drive it."""

import hashlib
import io
import json
import shutil
import subprocess
import time
import zipfile
from pathlib import Path

import httpx
import msgspec
import pytest

from rookery.core.client.client import Client
from rookery.core.client.transport import HttpApiTransport
from rookery.core.http_failures import CallRefused
from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.model.run import DisplayState
from rookery.core.protocol import v1
from rookery.server.sources.commits import mirror_name
from tests.commands import add_user, run_command
from tests.outside.github_process import REPOSITORY, SHA, github_process
from tests.outside.repositories import make_repository
from tests.rookery_process import COMMAND, LIMIT_SECONDS, environment, run_rookery
from tests.submissions import SPRT, body


def token_of(user: str, data: Path, *words: str) -> str:
    return run_command("token", "create", "--user", user, *words, data=data).stdout.splitlines()[-1]


def submitted_run(client: Client) -> v1.RunSummary:
    """The first run that another process submits."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while not (found := client.runs().runs):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return found[0]


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To make a database takes seconds, to copy one does not."""
    folder = tmp_path_factory.mktemp("made") / "data"
    add_user("boris", folder, "--approver", "--machine-limit", "1000000")
    add_user("olga", folder)
    return folder


@pytest.fixture
def data(made_once: Path, tmp_path: Path) -> Path:
    """A folder in which Boris, who may approve, and Olga have accounts."""
    return shutil.copytree(made_once, tmp_path / "data")


def test_a_run_lives_through_a_kill(data: Path) -> None:
    token = token_of("boris", data)
    with run_rookery(data) as server:
        client = Client.at(server.address, token)
        made = client.submit(body(sprt=SPRT))
        assert client.approve(made.id).state is DisplayState.PAUSED
        before = client.run(made.id)
        server.kill()
    with run_rookery(data) as server:
        again = Client.at(server.address, token)
        # Shares are worked out again after a start.
        after = again.run(made.id)
        assert msgspec.structs.replace(after, args=before.args) == before
        assert [run.id for run in again.runs().runs] == [made.id]
        assert again.stop(made.id).state is DisplayState.FINISHED
        finished = again.runs(state=v1.ListedState.FINISHED)
        assert [run.id for run in finished.runs] == [made.id]
        status, listed = server.get("/api/finished_runs?page=1")
        assert (status, made.id in listed) == (200, True)
        assert server.blockages() == []


def test_accounts_that_are_made_while_the_server_runs_count_at_once(data: Path) -> None:
    with run_rookery(data) as server:
        assert server.until("ready")
        token = token_of("olga", data)
        made = Client.at(server.address, token).submit(body())
        assert made.state is DisplayState.PENDING
        with pytest.raises(CallRefused, match="403"):
            Client.at(server.address, token).approve(made.id)
        assert server.blockages() == []


def test_a_worker_may_show_a_token_instead_of_a_password(data: Path) -> None:
    token = token_of("olga", data, "--worker")
    with run_rookery(data) as server:
        call = {"password": token, "worker_info": {"username": "olga"}}
        answer = HttpApiTransport(server.address).call(
            "POST", "/api/request_version", msgspec.json.encode(call)
        )
        assert b'"version":325' in answer
        assert b"error" not in answer
        with pytest.raises(CallRefused, match="403"):
            Client.at(server.address, token).users()


def test_an_uploaded_program_lives_through_a_kill(data: Path, tmp_path: Path) -> None:
    token, program = token_of("boris", data), tmp_path / "engine"
    program.write_bytes(b"#!" + bytes(range(256)) * 20_000)
    with run_rookery(data) as server:
        given = Client.at(server.address, token).upload(program)
        assert Client.at(server.address).has_program(given.sha256)
        assert not Client.at(server.address).has_program("0" * 64)
        assert given == v1.UploadedFile(
            sha256=hashlib.sha256(program.read_bytes()).hexdigest(), size=5_120_002
        )
        server.kill()
    with run_rookery(data) as server:
        path = f"/api/binary/{given.sha256}"
        assert HttpApiTransport(server.address).call("GET", path) == program.read_bytes()
        client = Client.at(server.address, token)
        wanted = body(resolved_new=None, new_signature=None, new_binary=given.sha256)
        assert client.run(client.submit(wanted).id).args["new_binary"] == given.sha256
        assert server.blockages() == []


def test_github_is_asked_for_its_quota_once_at_the_start(data: Path, tmp_path: Path) -> None:
    with github_process(tmp_path) as github, run_rookery(data, settings=github.settings) as server:
        deadline = time.monotonic() + LIMIT_SECONDS
        while json.loads(server.get("/api/rate_limit")[1])["_uninitialized"]:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert json.loads(server.get("/api/rate_limit")[1])["remaining"] == 60
        assert [call.split()[0] for call in github.calls()] == ["/rate_limit"]


def test_a_branch_is_resolved_and_its_source_given_to_workers(data: Path, tmp_path: Path) -> None:
    token, repository = token_of("boris", data), make_repository(tmp_path / "engine")
    base = repository.commit("First\n\nBench: 1234567", Makefile="all:")
    repository.git("switch", "-qc", "idea")
    new = repository.commit("Idea\n\nBench: 7654321", Makefile="all: x")
    wish = dict.fromkeys(("resolved_new", "resolved_base", "new_signature", "base_signature"))
    with (
        github_process(tmp_path / "github") as github,
        run_rookery(
            data, settings={**github.settings, "ROOKERY_GIT_SCHEMES": "file,https"}
        ) as server,
    ):
        client = Client.at(server.address, token)
        for name in ("idea", "master"):
            github.commit(name, "Bench: 1234567")
        there = client.run(client.submit(body(**wish, tests_repo=REPOSITORY)).id).args
        assert (there["resolved_new"], there["new_signature"]) == (SHA, "1234567")
        assert json.loads(server.get("/api/rate_limit")[1])["remaining"] == 58
        args = client.run(client.submit(body(**wish, tests_repo=repository.address)).id).args
        assert (args["resolved_new"], args["resolved_base"]) == (new, base)
        assert (args["new_signature"], args["base_signature"]) == ("7654321", "1234567")
        place = f"/src/{mirror_name(repository.address)}/zipball/{new}"
        packed = io.BytesIO(HttpApiTransport(server.address).call("GET", place))
        with zipfile.ZipFile(packed) as pack:
            assert pack.read(f"{mirror_name(repository.address)}/Makefile") == b"all: x"
        assert server.blockages() == []


def test_a_branch_of_an_engine_is_submitted_and_waited_for(data: Path, tmp_path: Path) -> None:
    token, repository = token_of("boris", data), make_repository(tmp_path / "engine")
    repository.commit("First\n\nBench: 1234567", Makefile="all:")
    repository.git("switch", "-qc", "idea")
    repository.commit("Idea\n\nBench: 7654321", Makefile="all: x")
    repository.git("switch", "-q", "master")
    quick = PresetRecord("quick", {"tc": "N=2000", "sprt": '{"elo0": 0, "elo1": 10}'})
    record = EngineRecord(name="Mini", source=repository.address, presets=(quick,))
    with run_rookery(data, settings={"ROOKERY_GIT_SCHEMES": "file"}) as server:
        client = Client.at(server.address, token)
        client.put_engine(record)
        words = (*COMMAND, "submit", "Mini", "idea", "--preset=quick", f"--server={server.address}")
        surroundings = environment() | {"ROOKERY_TOKEN": token}
        dry = subprocess.run(
            [*words, "--dry-run"], env=surroundings, capture_output=True, text=True, check=True
        )
        assert dry.stdout.startswith("idea (")
        assert "core hours" in dry.stdout
        assert client.runs().runs == ()
        with subprocess.Popen([*words, "--wait"], env=surroundings, stdout=subprocess.PIPE) as done:
            run = submitted_run(client)
            assert (run.new_tag, run.base_tag, run.tc) == ("idea", "HEAD", "N=2000")
            client.stop(run.id)
            done.communicate(timeout=60)
            assert done.returncode == 4
        assert server.blockages() == []


def test_a_net_that_was_added_is_given_to_workers(data: Path, tmp_path: Path) -> None:
    weights = bytes(range(256)) * 8000
    file = tmp_path / f"nn-{hashlib.sha256(weights).hexdigest()[:12]}.nnue"
    file.write_bytes(weights)
    with run_rookery(data) as server:
        assert server.until("ready")
        assert run_command("net", "add", str(file), "--user", "olga", data=data).returncode == 0
        answer = httpx.get(f"{server.address}/api/nn/{file.name}")
        assert answer.headers["content-encoding"] == "gzip"
        assert answer.content == weights
        plain = HttpApiTransport(server.address).call("GET", f"/api/nn/{file.name}")
        assert plain == weights
        assert server.blockages() == []
