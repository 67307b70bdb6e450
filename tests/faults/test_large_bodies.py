"""Large bodies on a real server: ten at once of a known worker stay within a little memory."""

import gzip
import json
import os
import socket
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from rookery.core.client.client import Client
from tests.faults.serving import PASSWORD, made_account
from tests.large_bodies import MB, high_water_mb, run_at_once, send_body
from tests.rookery_process import RookeryProcess, run_rookery
from tests.submissions import body
from tests.wire.worker.farm import worker_info

PACKED = gzip.compress(os.urandom(30 * MB), 0)


@contextmanager
def at_work(folder: Path) -> Iterator[tuple[RookeryProcess, dict[str, object]]]:
    """A server, and the beginning of what a worker of it says about its task."""
    account = made_account(folder / "data")
    with run_rookery(folder / "data", detect=False) as server:
        client = Client.at(server.address, account.token)
        client.approve(client.submit(body(sprt={"elo0": 0.0, "elo1": 2.0})).id)
        said: dict[str, object] = {"password": PASSWORD, "worker_info": worker_info("fleet")}
        asked = json.dumps(said).encode()
        task = send_body(place_of(server), "/api/request_task", asked, len(asked)).said
        run = task["run"]
        assert isinstance(run, dict)
        yield server, said | {"run_id": run["_id"], "task_id": task["task_id"]}


def place_of(server: RookeryProcess) -> tuple[str, int]:
    parts = urlsplit(server.address)
    return parts.hostname or "", parts.port or 0


def unfinished(data: Path) -> list[Path]:
    return list((data / "blobs").rglob("*.part"))


def test_ten_large_uploads_at_once_stay_within_a_little_memory(
    tmp_path: Path, files_in_a_folder: None
) -> None:
    with at_work(tmp_path) as (server, said):
        large = json.dumps(said | {"pgn": b64encode(PACKED).decode()}).encode()
        before = high_water_mb(server.process.pid)
        one = partial(send_body, place_of(server), "/api/upload_pgn", large, len(large))
        answers = run_at_once([one] * 10)
        # Four at a time for one user: who waited too long was told to come again. Most of these
        # are more than a task can have.
        assert {answer.status for answer in answers} <= {200, 400, 503}
        assert high_water_mb(server.process.pid) - before < 100
        kept = list((server.data / "blobs" / "games").rglob("*"))
        files = [path for path in kept if path.is_file()]
        assert len(files) == [answer.status for answer in answers].count(200)


def test_a_server_that_was_killed_amid_an_upload_leaves_no_piece_of_it(
    tmp_path: Path, files_in_a_folder: None
) -> None:
    with at_work(tmp_path) as (server, said):
        head = json.dumps(said).encode()[:-1] + b', "pgn": "H4sI'
        asked = b"POST /api/upload_pgn HTTP/1.1\r\nhost: localhost\r\ncontent-length: 90000000\r\n"
        with socket.create_connection(place_of(server), timeout=60) as wire:
            wire.sendall(asked + b"\r\n" + head + b"AAAA" * 1_000_000)
            while not unfinished(server.data):
                pass
            server.kill()
    assert unfinished(tmp_path / "data")
    with run_rookery(tmp_path / "data", detect=False) as again:
        again.until("ready")
        assert unfinished(again.data) == []
