"""A match is followed to its end, or to somebody's word."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from rookery.boundary.offload import Threads
from rookery.match.job import Event, GameStarted, PairEnded
from rookery.model.task import NOTHING
from rookery.worker.engines.orders import TaskFailed
from rookery.worker.identity import WorkerIdentity, WorkerOffer
from rookery.worker.playing import (
    GameCounter,
    MatchContext,
    MatchFollower,
    PairSupply,
    PartialReports,
)
from rookery.worker.reporting import GameFile
from rookery.worker.server import TaskProgress
from rookery.worker.stopping import SilentWatcher, Stop
from tests.unit.worker.test_assignment import granted
from tests.unit.worker.test_counters import pair
from tests.workers.lives import FACTS


class Endless:
    """A match in which, after a few pairs, nothing ever happens; knows whether it was left."""

    left = False

    def __init__(self, pairs: int = 0) -> None:
        self._pairs = pairs

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.left = True

    async def __aiter__(self) -> AsyncIterator[Event]:
        for number in range(self._pairs):
            yield PairEnded(pair(number))
        await asyncio.Event().wait()
        yield GameStarted(0, 0, "w", "b")


def table_in(folder: Path, lost: asyncio.Event, **changes: Any) -> MatchContext:
    task = granted()
    plain = MatchContext(
        task=task,
        slots=1,
        batch=1,
        whole=False,
        pair_seconds=1.0,
        games=GameFile(folder / "a.pgn", task, ""),
        identity=WorkerIdentity(WorkerOffer("olga", 1, 1000), FACTS, "key"),
        report=print,
        tell=print,
        lost=lost,
        stop=Stop(1.0),
        threads=Threads(),
        watch=SilentWatcher(),
    )
    return replace(plain, **changes)


async def follow(match: Endless, folder: Path, *, limit: float | None, lost: bool = False) -> None:
    gone = asyncio.Event()
    if lost:
        gone.set()
    table = table_in(folder, gone, limit_seconds=limit)
    await MatchFollower(table, GameCounter(NOTHING, 1), PairSupply(iter(()))).follow(match)


async def reported_of(
    match: Endless, folder: Path, parts: PartialReports | None, batch: int
) -> list[int]:
    """How many games each report counts, until the server wants no more: after the first one, or
    where there is none after a while."""
    gone, told = asyncio.Event(), []

    def report(progress: TaskProgress) -> None:
        told.append(progress.stats.games)
        gone.set()

    asyncio.get_running_loop().call_later(0.2 if parts is None else 30.0, gone.set)
    table = table_in(folder, gone, report=report, parts=parts, batch=batch)
    await MatchFollower(table, GameCounter(NOTHING, batch), PairSupply(iter(()))).follow(match)
    return told


def test_a_runner_that_never_ends_fails_the_task(tmp_path: Path) -> None:
    match = Endless()
    with pytest.raises(TaskFailed, match="far longer"):
        asyncio.run(follow(match, tmp_path, limit=0.01))
    assert match.left


def test_a_match_is_left_when_the_server_wants_no_more(tmp_path: Path) -> None:
    match = Endless()
    asyncio.run(follow(match, tmp_path, limit=None, lost=True))
    assert match.left


def test_pairs_do_not_wait_for_their_batch_where_the_server_takes_parts(tmp_path: Path) -> None:
    told = asyncio.run(
        reported_of(Endless(pairs=3), tmp_path, PartialReports(first_seconds=0.05), batch=99)
    )
    assert told == [6]


def test_a_pair_that_comes_after_its_time_is_reported_at_once(tmp_path: Path) -> None:
    told = asyncio.run(
        reported_of(Endless(pairs=3), tmp_path, PartialReports(first_seconds=0.0), batch=99)
    )
    assert told[0] in (2, 4, 6)


def test_elsewhere_pairs_wait_for_their_batch(tmp_path: Path) -> None:
    assert asyncio.run(reported_of(Endless(pairs=3), tmp_path, None, batch=99)) == []


def test_a_worker_asked_to_leave_before_its_first_game_leaves_at_once(tmp_path: Path) -> None:
    async def asked_before() -> None:
        stop = Stop(grace_seconds=600.0)
        stop.ask()
        table = table_in(tmp_path, asyncio.Event(), stop=stop)
        await MatchFollower(table, GameCounter(NOTHING, 1), PairSupply(iter(()))).follow(match)

    match = Endless()
    asyncio.run(asked_before())
    assert match.left
