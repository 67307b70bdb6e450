"""The farm in figures, from its unfinished runs and from what rows count."""

import asyncio

import asyncpg
import pytest

from rookery.core.clock import SystemClock
from rookery.core.model.run import DisplayState
from rookery.server.farm.figures import CountedRows, FarmFigureReader, FigureRows, summarize
from rookery.server.farm.fleet import Fleet
from tests.fakes import RecordedLog
from tests.makers import make_run
from tests.twins.farm import MemoryStore

pytestmark = pytest.mark.anyio


class BrokenRows(FigureRows):
    """A database that is away."""

    def __init__(self) -> None:
        self.asked = 0

    async def count(self) -> CountedRows:
        self.asked += 1
        raise asyncpg.ConnectionDoesNotExistError


class SomeRows(BrokenRows):
    async def count(self) -> CountedRows:
        self.asked += 1
        return CountedRows(finished_runs=7)


class HangingRows(BrokenRows):
    """A connection that hangs."""

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()

    async def count(self) -> CountedRows:
        self.asked += 1
        await self.goes_on.wait()
        return CountedRows()


def reader_on(rows: FigureRows) -> FarmFigureReader:
    fleet = Fleet(MemoryStore(), SystemClock(), RecordedLog())
    return FarmFigureReader(fleet, rows, SystemClock())


def test_runs_are_counted_by_state_and_machines_over_all() -> None:
    runs = [make_run("a", approved=False), make_run("b", cores=12), make_run("c", cores=4)]
    figures = summarize(runs, waiting=2, pace=0.0, rows=None)
    assert figures.runs == {
        DisplayState.PENDING: 1,
        DisplayState.PAUSED: 0,
        DisplayState.ACTIVE: 2,
    }
    assert (figures.playing, figures.waiting, figures.cores) == (2, 2, 16)


def test_games_that_nobody_approved_are_no_work_that_waits() -> None:
    approved, pending = make_run("a"), make_run("b", approved=False)
    figures = summarize([approved, pending], waiting=0, pace=0.0, rows=None)
    assert figures.remaining_games == approved.remaining > 0


async def test_there_are_figures_while_the_database_is_away() -> None:
    assert (await reader_on(BrokenRows()).read()).rows is None


async def test_there_are_figures_in_time_while_the_database_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("rookery.server.farm.figures.ANSWER_SECONDS", 0.01)
    rows = HangingRows()
    reader = reader_on(rows)
    async with asyncio.timeout(5):
        assert (await reader.read()).rows is None
        assert (await reader.read()).rows is None
    assert rows.asked == 1
    rows.goes_on.set()
    assert (await reader.read()).rows is not None


async def test_the_rows_are_counted_once_for_callers_that_come_soon_after() -> None:
    rows = SomeRows()
    reader = reader_on(rows)
    assert (await reader.read()).rows == (await reader.read()).rows == CountedRows(finished_runs=7)
    assert rows.asked == 1
