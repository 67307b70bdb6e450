"""A real server whose files are in S3-compatible storage, which dies under load and comes back."""

import gzip
import json
import os
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.client.client import Client
from rookery.core.clock import SystemClock
from rookery.server.db.access import open_target
from rookery.server.db.pool import Queries
from rookery.server.files.games import GameRows, GameStore
from rookery.server.files.places import open_place
from rookery.server.logs import SilentLog
from rookery.server.settings import Settings
from tests.bucket_server import CREDENTIALS, BucketServer
from tests.database import pool_on
from tests.faults.serving import PASSWORD, made_account
from tests.faults.test_serve_kills import DYING
from tests.large_bodies import SentBody, send_body
from tests.rookery_process import COMMAND, LIMIT_SECONDS, RookeryProcess, run_rookery
from tests.submissions import body
from tests.wire.worker.farm import GAMES, worker_info

QUERIES = Queries.load()
LARGE_GAMES = b64encode(gzip.compress(os.urandom(300_000), 0)).decode()


class TaskedWorker:
    """A worker with a task of a real server."""

    def __init__(self, server: RookeryProcess, token: str) -> None:
        parts = urlsplit(server.address)
        self._place = parts.hostname or "", parts.port or 0
        client = Client.at(server.address, token)
        client.approve(client.submit(body(sprt={"elo0": 0.0, "elo1": 2.0})).id)
        self._said: dict[str, object] = {
            "password": PASSWORD,
            "worker_info": worker_info("fleet"),
        }
        task = self.call("request_task").said
        run = task["run"]
        assert isinstance(run, dict)
        self._said |= {"run_id": run["_id"], "task_id": task["task_id"]}

    def call(self, name: str, **fields: object) -> SentBody:
        asked = json.dumps(self._said | fields).encode()
        return send_body(self._place, f"/api/{name}", asked, len(asked))

    def upload(self, games: str = GAMES) -> SentBody:
        return self.call("upload_pgn", message="", pgn=games)


@contextmanager
def serve_with(
    bucket: BucketServer, data: Path, *, command: tuple[str, ...] = COMMAND
) -> Iterator[tuple[RookeryProcess, str]]:
    account = made_account(data)
    settings = CREDENTIALS | {"ROOKERY_FILES_URL": bucket.url()}
    with run_rookery(data, "serve", command=command, settings=settings) as server:
        server.until("ready")
        yield server, account.token


@contextmanager
def beating(worker: TaskedWorker) -> Iterator[Counter[bool]]:
    """Beats all the while; counts whether the task was alive, in time."""
    seen: Counter[bool] = Counter()
    over = Event()

    def beat() -> None:
        while not over.is_set():
            began = time.monotonic()
            answer = worker.call("beat")
            alive = answer.status == 200 and answer.said.get("task_alive") is True
            seen[alive and time.monotonic() - began < 5] += 1

    thread = Thread(target=beat)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize(
    ("fault", "games"), [("killed", GAMES), ("stopped", LARGE_GAMES)], ids=["killed", "stopped"]
)
def test_uploads_are_put_off_while_the_storage_is_away_and_all_else_goes_on(
    bucket: BucketServer, tmp_path: Path, games: str, fault: str
) -> None:
    with serve_with(bucket, tmp_path / "data") as (server, token):
        worker = TaskedWorker(server, token)
        assert worker.upload(games).status == 200
        with beating(worker) as beats:
            bucket.kill() if fault == "killed" else bucket.pause()
            refused = worker.upload(games)
            assert refused.status == 503
            with pytest.raises(json.JSONDecodeError):
                assert refused.said
            status, ready = server.get("/readyz")
            assert (status, "is away" in json.loads(ready)["warning"]) == (200, True)
            assert "the storage of files is away" in server.get("/")[1]
            assert "rookery_files_away 1.0" in server.get("/metrics")[1]
            bucket.start() if fault == "killed" else bucket.go_on()
            until(lambda: "storage_back" in {one["event"] for one in server.events()})
            assert worker.upload(games).status == 200
        assert beats[False] == 0
        assert beats[True] > 0
        assert server.blockages() == []
        # What a stopped storage was sent arrives when it wakes, and is nobody's: it is swept.
        assert len(stored(bucket)) == 2 + (fault == "stopped")


def stored(bucket: BucketServer) -> list[Path]:
    return [path for path in bucket.list_files() if "games" in path.parts]


@pytest.mark.anyio
async def test_what_a_kill_between_put_and_commit_leaves_is_swept(
    bucket: BucketServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die() -> None:
        dying = (*DYING, "blob_after_put")
        with serve_with(bucket, tmp_path / "data", command=dying) as (server, token):
            worker = TaskedWorker(server, token)
            with pytest.raises((AssertionError, ConnectionError)):
                worker.upload()
            assert server.process.wait(60) == -9
        (orphan,) = stored(bucket)
        # Two days pass; the server of the bucket remembers times.
        bucket.kill()
        os.utime(orphan, (time.time() - 200_000,) * 2)
        bucket.start()

    threads, clock = Threads(), SystemClock()
    await threads.io(die)
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    data, settings = tmp_path / "data", Settings(data=tmp_path)
    place = await threads.io(open_place, bucket.address(), settings, threads, clock, SilentLog())
    async with open_target(data, None) as target, pool_on(target) as pool:
        store = GameStore(GameRows(pool, QUERIES), place.blobs("games"), threads, clock)
        assert len(await threads.io(stored, bucket)) == 1
        await store.sweep()
    assert await threads.io(stored, bucket) == []
