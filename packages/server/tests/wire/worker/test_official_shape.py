"""Our worker with another project's server: its calls are shaped as the official worker's."""

import base64
import hashlib
import shlex
import sys
from pathlib import Path

import pytest

from rookery.core.model.engine import EngineRecord
from rookery.worker.engines.orders import BenchFailed, BenchResult, EngineOrder
from rookery.worker.preparing import BenchCall
from rookery.worker.sandbox.sandbox import NO_SANDBOX, BuiltEngine, Sandbox
from tests.places import PROJECT
from tests.workers.fake_server import Body, FakeServer
from tests.workers.in_process import run_worker
from tests.workers.official import SHAPES, Scenario, call_of, exchanges, once_each, scenarios, shape

BOOK = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n"
MISFITS = {"crashgame"}
"""Scenarios whose games a fake fastchess can't play."""


class Shop:
    """Has every engine ready."""

    async def make(self, order: EngineOrder) -> BuiltEngine:
        return BuiltEngine(("true",), order.commit)

    async def sandbox(self) -> Sandbox:
        return NO_SANDBOX


def bench_for(scenario: Scenario) -> BenchCall:
    """Counts what the run expects, unless the scenario is about a wrong or a failing bench."""
    expected = scenario.task["run"]["args"]

    async def bench(built: BuiltEngine, record: EngineRecord, **_: object) -> BenchResult:
        if scenario.name == "crash":
            raise BenchFailed("Bench run failed with exit code SIGABRT.")
        is_new = built.digest == expected["resolved_new"]
        nodes = int(expected["new_signature" if is_new else "base_signature"])
        return BenchResult(nodes + scenario.name.startswith("badbench"), 1_000_000.0)

    return bench


def fastchess(folder: Path) -> Path:
    program = folder / "fastchess"
    fake = shlex.join([sys.executable, str(PROJECT / "tests" / "engines" / "fake_fastchess.py")])
    program.write_text(f'#!/bin/sh\nexec {fake} "$@"\n')
    program.chmod(0o755)
    return program


def with_book(task: Body, folder: Path) -> Body:
    """The book that the run means is the one in the cache."""
    args = task["run"]["args"]
    args["book_sri"] = base64.b64encode(hashlib.sha384(BOOK).digest()).decode()
    books = folder / "cache" / "books"
    books.mkdir(parents=True)
    (books / args["book"]).write_bytes(BOOK)
    return task


@pytest.mark.parametrize("scenario", scenarios(), ids=lambda one: one.name)
def test_calls_are_shaped_as_official_ones(scenario: Scenario, tmp_path: Path) -> None:
    task = with_book(scenario.task, tmp_path)
    server = FakeServer(
        tasks=[task],
        greeting={"version": 325},
        games=task["run"]["my_task"]["num_games"],
        answers={"request_spsa": lambda _: scenario.spsa},
    )
    run_worker(
        server,
        tmp_path,
        shop=Shop(),
        bench=bench_for(scenario),
        foreign_server=True,
        fastchess=str(fastchess(tmp_path)),
    )
    unknown = [call for call, body in server.calls if shape(body) not in SHAPES[call]]
    assert unknown == []
    assert all(body["worker_info"]["modified"] for body in server.of("request_task"))
    if scenario.name not in MISFITS:
        assert once_each(server.names()) == scenario.calls


def test_the_shapes_are_those_of_the_recorded_calls() -> None:
    wrong = [
        call_of(one)
        for one in exchanges()
        if one["method"] == "POST" and shape(one["request"]) not in SHAPES[call_of(one)]
    ]
    assert wrong == []
