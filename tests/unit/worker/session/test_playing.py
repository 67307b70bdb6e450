"""A match is followed to its end, or to somebody's word."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Self

import pytest

from rookery.boundary.offload import Threads
from rookery.core.results import NOTHING
from rookery.worker.match.events import Event, GameStarted
from rookery.worker.session.faults import TaskFailed
from rookery.worker.session.gamefile import GameFile
from rookery.worker.session.identity import Identity, Offer
from rookery.worker.session.ledger import GamesLedger
from rookery.worker.session.playing import Sitting, Table
from rookery.worker.session.stopping import Stop
from rookery.worker.session.supply import Supply
from rookery.worker.session.watching import Nobody
from tests.unit.worker.session.test_assignment import granted
from tests.workers.lives import FACTS


class Endless:
    """A match in which nothing ever happens; knows whether it was left."""

    left = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.left = True

    async def __aiter__(self) -> AsyncIterator[Event]:
        await asyncio.Event().wait()
        yield GameStarted(0, 0, "w", "b")


async def follow(match: Endless, folder: Path, *, limit: float | None, lost: bool = False) -> None:
    task, gone = granted(), asyncio.Event()
    if lost:
        gone.set()
    table = Table(
        task=task,
        slots=1,
        batch=1,
        whole=False,
        pair_seconds=1.0,
        games=GameFile(folder / "a.pgn", task, ""),
        identity=Identity(Offer("olga", 1, 1000), FACTS, "key"),
        report=print,
        tell=print,
        lost=gone,
        stop=Stop(1.0),
        threads=Threads(),
        watch=Nobody(),
        limit_seconds=limit,
    )
    await Sitting(table, GamesLedger(NOTHING, 1), Supply(iter(()))).follow(match)


def test_a_runner_that_never_ends_fails_the_task(tmp_path: Path) -> None:
    match = Endless()
    with pytest.raises(TaskFailed, match="far longer"):
        asyncio.run(follow(match, tmp_path, limit=0.01))
    assert match.left


def test_a_match_is_left_when_the_server_wants_no_more(tmp_path: Path) -> None:
    match = Endless()
    asyncio.run(follow(match, tmp_path, limit=None, lost=True))
    assert match.left
