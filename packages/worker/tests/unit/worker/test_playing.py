"""A match is followed to its end: pairs become batches, and only useful pairs are played."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.model.task import NOTHING, Results
from rookery.core.protocol.worker_requests import SlotResult, SpsaResult
from rookery.match.job import (
    Event,
    GameResult,
    GameStarted,
    PairEnded,
    PairJob,
    PairResult,
    Termination,
    pair_jobs,
)
from rookery.match.openings import STANDARD
from rookery.worker.engines.orders import TaskFailed
from rookery.worker.identity import WorkerIdentity, WorkerOffer
from rookery.worker.playing import (
    GameCounter,
    MatchContext,
    MatchFollower,
    PairSupply,
    PartialReports,
    TuneCounter,
    count_useful_pairs,
)
from rookery.worker.reporting import GameFile
from rookery.worker.server import TaskProgress
from rookery.worker.stopping import Stop, WorkerStatus
from tests.engines.matches import mover
from tests.unit.worker.test_assignment import granted
from tests.workers.in_process import FACTS
from tests.workers.silent_watcher import SilentWatcher


def game(result: str) -> GameResult:
    return GameResult("w", "b", "", (), (), result, Termination.NORMAL, "")


def pair(number: int, first: str = "1-0", second: str = "1/2-1/2") -> PairResult:
    """By default a win with White and a draw with Black."""
    return PairResult(number, "new", "base", (game(first), game(second)))


def test_a_batch_is_reported_when_it_is_whole() -> None:
    ledger = GameCounter(NOTHING, batch_pairs=2)
    assert ledger.add(pair(0)) is None
    assert ledger.add(pair(1)) == TaskProgress(Results(2, 0, 2, 0, 0, (0, 0, 0, 2, 0)))


def test_totals_include_what_was_played_before() -> None:
    before = Results(1, 1, 0, 0, 0, (0, 0, 1, 0, 0))
    told = GameCounter(before, batch_pairs=1).add(pair(0))
    assert told == TaskProgress(Results(2, 1, 1, 0, 0, (0, 0, 1, 1, 0)))


def test_what_is_left_over_is_reported_once() -> None:
    ledger = GameCounter(NOTHING, batch_pairs=2)
    ledger.add(pair(0))
    told = ledger.rest()
    assert told is not None
    assert told.stats.games == 2
    assert ledger.rest() is None


def test_a_tune_reports_when_all_its_pairs_are_there() -> None:
    ledger = TuneCounter(NOTHING, 2, (7, 8), joint=9, is_rookery=True)
    assert ledger.add(pair(1)) is None
    told = ledger.add(pair(0, "0-1", "1-0"))
    assert told is not None
    assert told.spsa == SpsaResult(
        num_games=4,
        wins=1,
        losses=2,
        draws=1,
        sig=9,
        slots=(
            SlotResult(num_games=2, wins=0, losses=2, draws=0, sig=7),
            SlotResult(num_games=2, wins=1, losses=0, draws=1, sig=8),
        ),
    )


def test_another_projects_server_hears_of_no_slots() -> None:
    told = TuneCounter(NOTHING, 1, (9,), joint=9, is_rookery=False).add(pair(0))
    assert told is not None
    assert type(told.spsa) is SlotResult


def pairs() -> PairSupply:
    return PairSupply(pair_jobs([(mover("a"), mover("b"))], lambda _: STANDARD))


def numbers(taken: list[PairJob]) -> list[int]:
    return [job.number for job in taken]


def test_pairs_are_handed_out_until_it_is_enough() -> None:
    supply = pairs()
    first = [next(supply), next(supply)]
    supply.stop_at(3)
    assert numbers([*first, *supply]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "finished", "in_time", "expected"),
    [
        (5, 3, 100, 8),  # the batch that was begun can be whole
        (5, 3, 2, 4),  # the next batch can, the one after it can't
        (5, 3, 0, 0),  # nothing more can be whole
        (8, 7, 100, 8),
    ],
)
def test_only_whole_batches_are_worth_it(
    given: int, finished: int, in_time: int, expected: int
) -> None:
    assert count_useful_pairs(given, finished, 4, in_time, whole=True) == expected


def test_pairs_that_count_alone_may_end() -> None:
    assert count_useful_pairs(5, 3, 4, 0, whole=False) == 5


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


class StatusList(SilentWatcher):
    """A watcher that keeps what is shown, and notes the first status after a request to leave."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.is_leaving = asyncio.Event()

    def show(self, status: WorkerStatus) -> None:
        self.shown.append(status.doing)
        if status.doing == "finishing the last games":
            self.is_leaving.set()


class LeftBetweenPairs(Endless):
    """A match of two pairs. The worker is asked to leave after the first one."""

    def __init__(self, stop: Stop, watch: StatusList, supply: PairSupply) -> None:
        super().__init__()
        self._stop, self._watch, self._supply = stop, watch, supply

    async def __aiter__(self) -> AsyncIterator[Event]:
        taken = [next(self._supply), next(self._supply)]
        yield PairEnded(pair(taken[0].number))
        self._stop.ask()
        await self._watch.is_leaving.wait()
        yield GameStarted(taken[1].number, 0, "w", "b")
        yield PairEnded(pair(taken[1].number))


def test_a_worker_asked_to_leave_shows_that_until_its_last_game(tmp_path: Path) -> None:
    async def shown() -> list[str]:
        stop, watch, supply = Stop(grace_seconds=600.0), StatusList(), pairs()
        table = table_in(tmp_path, asyncio.Event(), stop=stop, watch=watch)
        match = LeftBetweenPairs(stop, watch, supply)
        await MatchFollower(table, GameCounter(NOTHING, 1), supply).follow(match)
        return watch.shown

    first, *later = asyncio.run(shown())
    assert first == "starting the engines"
    assert later == ["playing", *["finishing the last games"] * 3]
