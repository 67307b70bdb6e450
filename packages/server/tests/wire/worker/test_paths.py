"""A call is decoded and its sender verified once, whichever path it takes; and most pass little."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import httpx
import pytest

from rookery.core.protocol.codec import Reader
from rookery.server.farm.rules.eligibility import STANDARD_POLICY
from rookery.server.farm.terms import PrimaryTerm
from rookery.server.identity.users import Scope, mint
from rookery.server.identity.worker_credentials import WorkerCredentials
from rookery.server.worker_api.short_path import short_path_of
from tests.makers import pairs, spsa
from tests.twins.instances import served
from tests.wire.worker.farm import GAMES, PATHS, Answer, ServedFarm, Worker, open_farm, stats
from tests.wire.worker.passed_functions import Passed, watched_calls

pytestmark = pytest.mark.anyio

OURS: Answer = {"rookery": {"version": "1", "os": "linux"}}
PROVENANCE = {"runner": "builtin", "runner_version": "1", "factor": 1.0}
MORE: dict[str, Answer] = {
    "update_task": {"stats": stats(pairs(even=1))},
    "failed_task": {"message": "no compiler"},
    "stop_run": {"message": "wrong bench"},
    "upload_pgn": {"pgn": GAMES},
    "worker_log": {"message": "hello"},
}
DECISIONS = frozenset({"model", "rules", "stats"})
"""The rooms that decide, without knowing of calls; all else is the way there and on."""
MOST_FUNCTIONS = 18
MOST_FILES = 25


@dataclass(frozen=True, slots=True)
class Line:
    """A kept connection to the server, or its app in this process."""

    farm: ServedFarm
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send_whole(self, path: str, body: bytes) -> int:
        self.writer.write(_request(path, body))
        return await self._status()

    async def send_in_pieces(self, path: str, body: bytes) -> int:
        whole = _request(path, body)
        self.writer.write(whole[:30])
        await asyncio.sleep(0.02)
        self.writer.write(whole[30:])
        return await self._status()

    async def send_in_process(self, path: str, body: bytes) -> int:
        answer: httpx.Response = await self.farm.site.browser.post(f"/api/{path}", content=body)
        return answer.status_code

    async def _status(self) -> int:
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = next(line for line in head.split("\r\n") if line.startswith("content-length"))
        await self.reader.readexactly(int(length.partition(":")[2]))
        return int(head.split()[1])


WAYS = {
    "whole": Line.send_whole,
    "in pieces": Line.send_in_pieces,
    "in process": Line.send_in_process,
}


def _request(path: str, body: bytes) -> bytes:
    head = f"POST /api/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


@asynccontextmanager
async def open_line(*, tune: bool = False) -> AsyncIterator[Line]:
    async with open_farm(policy=STANDARD_POLICY) as farm, served(farm.site.app, farm.parts) as at:
        await farm.submit(kind=spsa() if tune else None)
        place = urlsplit(at)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        try:
            yield Line(farm, reader, writer)
        finally:
            writer.close()


def encoded(worker: Worker, path: str, **more: object) -> bytes:
    return json.dumps(worker.body(**worker.ids | MORE.get(path, {}) | more)).encode()


def assert_decoded_once(passed: Passed) -> None:
    readers = passed.objects(Reader.read)
    assert readers
    assert len(readers) == len(set(map(id, readers)))


@pytest.mark.parametrize("kind", ["password", "token"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", PATHS)
async def test_a_body_is_decoded_once_and_its_sender_verified_once(
    path: str, way: str, kind: str
) -> None:
    async with open_line(tune=path == "request_spsa") as line:
        worker = line.farm.worker()
        if kind == "token":
            now = line.farm.clock.now()
            minted = mint("wanda", frozenset({Scope.WORKER}), now=now, chance=secrets.token_bytes)
            await line.farm.parts.tokens.add(minted.token)
            worker.password = minted.secret
        await worker.request_task()
        line.farm.clock.move(seconds=100)
        with watched_calls() as passed:
            status = await WAYS[way](line, path, encoded(worker, path))
        assert status == (401 if path == "stop_run" else 200)
        assert len(passed.objects(Reader.read)) == 1
        assert len(passed.objects(WorkerCredentials.find_verified)) == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("path", PATHS)
async def test_a_call_of_somebody_unknown_is_decoded_once(path: str, way: str) -> None:
    async with open_line() as line:
        worker = line.farm.worker()
        worker.ids = {"run_id": "a" * 24, "task_id": 0}
        worker.password = "wrong"
        with watched_calls() as passed:
            assert await WAYS[way](line, path, encoded(worker, path)) == 401
        assert len(passed.objects(Reader.read)) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_body_with_a_mistake_is_decoded_once_and_once_for_its_sender(way: str) -> None:
    async with open_line() as line:
        worker = line.farm.worker()
        await worker.request_task()
        with watched_calls() as passed:
            body = encoded(worker, "update_task", run_id=7)
            assert await WAYS[way](line, "update_task", body) == 400
        assert_decoded_once(passed)


@pytest.mark.parametrize("way", WAYS)
async def test_a_machine_that_has_to_wait_for_a_task_is_decoded_once(way: str) -> None:
    async with open_line() as line:
        worker = line.farm.worker(max_memory=1, **OURS)
        await worker.version()
        with watched_calls() as passed:
            body = encoded(worker, "request_task", rookery={"wait": 0.05})
            assert await WAYS[way](line, "request_task", body) == 200
        assert len(passed.objects(Reader.read)) == 1
        assert len(passed.objects(WorkerCredentials.find_verified)) == 1


@pytest.mark.parametrize("way", WAYS)
async def test_a_report_whose_commit_is_lost_is_decoded_once(way: str) -> None:
    async with open_line() as line:
        worker = line.farm.worker()
        await worker.request_task()
        line.farm.clock.move(seconds=100)
        line.farm.parts.store.commits.hold()
        with watched_calls() as passed:
            body = encoded(worker, "update_task")
            sent = asyncio.ensure_future(WAYS[way](line, "update_task", body))
            await asyncio.sleep(0.1)
            line.farm.parts.store.commits.lose()
            assert await sent == 503
        assert len(passed.objects(Reader.read)) == 1


async def test_a_call_says_whether_it_may_be_answered_at_once() -> None:
    async with open_farm() as farm:
        endpoints = short_path_of(farm.site.app)._endpoints.values()
        at_once = {each.route.path for each in endpoints if each.call.at_once}
        implemented = {
            each.route.path for each in endpoints if "act_at_once" in vars(type(each.call))
        }
        assert at_once == implemented
        assert len(at_once) == 4


@pytest.mark.parametrize("path", ["update_task", "request_task"])
async def test_the_way_to_the_commit_is_short(path: str) -> None:
    """Counted are different functions from the decoding of the body to the queue of the commit;
    those that decide (rules, models, statistics) only by their files."""
    async with open_line() as line:
        worker = line.farm.worker(**OURS)
        await worker.request_task()
        line.farm.clock.move(seconds=100)
        # The first report adds a point to the chart and describes the machine, as few do.
        await line.send_whole("update_task", encoded(worker, "update_task"))
        wishes = {"wait": 50.0} if path == "request_task" else PROVENANCE
        body = encoded(worker, path, rookery=wishes, stats=stats(pairs(even=2)))
        with watched_calls() as passed:
            assert await line.send_whole(path, body) == 200
        functions = passed.between(Reader.read, PrimaryTerm.put)
        way = [each for each in functions if not each.is_in(DECISIONS)]
        assert len(way) <= MOST_FUNCTIONS, sorted(each.name for each in way)
        files = {each.file for each in functions}
        assert len(files) <= MOST_FILES, " ".join(
            sorted(each.rpartition("/rookery/")[2] for each in files)
        )
