"""The group commit's own behaviour, with a writer that does as the test says."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from dataclasses import replace

import pytest

from rookery.server.farm.commits import CommitLimits, GroupCommit, QueueFull, StateLost
from rookery.server.farm.rules.answers import Changes, Closing
from rookery.server.farm.writing import PendingRows, Slice
from tests.eventually import eventually
from tests.makers import NOW, make_run, pairs
from tests.storage.farm.stores import changed, finished, make_task

pytestmark = pytest.mark.anyio

RUN = make_run("a")
TASK = make_task(RUN)
LIMITS = CommitLimits(changes=6, seconds=3600, round_changes=4, slice_rows=3)


class Script:
    """A writer that waits to be let go, and the listener who hears of each commit."""

    def __init__(self) -> None:
        self.going = asyncio.Event()
        self.going.set()
        self.error: Exception | None = None
        self.begun = 0
        self.written: list[tuple[PendingRows, int]] = []
        self.order: list[PendingRows | Slice] = []
        self.told: list[tuple[int, set[str]]] = []
        self.losses: list[str] = []

    async def follow(self, following: Slice) -> None:
        await asyncio.sleep(0)
        self.order.append(following)
        if self.error is not None:
            raise self.error

    async def write(self, gathered: PendingRows, sequence: int) -> None:
        self.begun += 1
        await asyncio.sleep(0)
        await self.going.wait()
        if self.error is not None:
            raise self.error
        self.written.append((gathered, sequence))
        self.order.append(gathered)

    def begin(self, sequence: int) -> None:
        """The store says it, not the group commit."""

    def add(self, sequence: int, runs: Iterable[str]) -> None:
        self.told.append((sequence, set(runs)))


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
async def commits(script: Script) -> AsyncIterator[GroupCommit]:
    found = GroupCommit(script, [script], sequence=100, limits=LIMITS, lost=script.losses.append)
    yield found
    await found.end("the test is over")


def result(wins: int) -> Changes:
    return changed(replace(TASK, results=pairs(ww=wins)))


async def begun(script: Script, number: int = 1) -> None:
    await eventually(lambda: script.begun >= number)


async def put_during_a_commit(commits: GroupCommit, script: Script) -> int:
    """Two changes while the first is held in its commit; gives the last one's number."""
    script.going.clear()
    commits.put(result(1))
    await begun(script)
    commits.put(result(2))
    return commits.put(result(3))


async def test_what_is_put_together_is_committed_together(
    commits: GroupCommit, script: Script
) -> None:
    first, second = commits.put(result(1)), commits.put(result(2))
    assert (first, second) == (101, 102)
    await commits.wait_committed(second)
    ((gathered, sequence),) = script.written
    assert sequence == 102
    assert gathered.tasks == {(RUN.id, 0): replace(TASK, results=pairs(ww=2))}


async def test_what_comes_during_a_commit_goes_with_the_next(
    commits: GroupCommit, script: Script
) -> None:
    last = await put_during_a_commit(commits, script)
    script.going.set()
    await commits.wait_committed(last)
    assert [sequence for *_, sequence in script.written] == [101, 103]


async def test_nobody_is_told_before_the_commit(commits: GroupCommit, script: Script) -> None:
    script.going.clear()
    waiting = asyncio.create_task(commits.wait_committed(commits.put(result(1))))
    await begun(script)
    assert not waiting.done()
    assert script.told == []
    script.going.set()
    await waiting
    assert script.told == [(101, {RUN.id})]


async def test_a_waiter_that_is_cancelled_does_not_stop_the_commit(
    commits: GroupCommit, script: Script
) -> None:
    script.going.clear()
    waiting = asyncio.create_task(commits.wait_committed(commits.put(result(1))))
    await begun(script)
    waiting.cancel()
    script.going.set()
    await commits.wait_committed(101)
    assert len(script.written) == 1


async def test_a_full_queue_says_so_before_anything_is_changed(
    commits: GroupCommit, script: Script
) -> None:
    last = await put_during_a_commit(commits, script)
    with pytest.raises(QueueFull):
        commits.check_capacity()
    script.going.set()
    await commits.wait_committed(last)
    commits.check_capacity()


async def test_a_queue_whose_oldest_change_waits_too_long_takes_nothing(script: Script) -> None:
    commits = GroupCommit(script, [script], limits=replace(LIMITS, seconds=0.0))
    script.going.clear()
    commits.put(result(1))
    await asyncio.sleep(0.001)
    with pytest.raises(QueueFull):
        commits.check_capacity()
    script.going.set()
    await commits.end("the test is over")


async def test_a_large_crowd_goes_in_several_rounds(commits: GroupCommit, script: Script) -> None:
    for wins in range(3):
        last = commits.put(result(wins))
    await commits.wait_committed(last)
    assert [sequence for *_, sequence in script.written] == [102, 103]


async def test_a_failed_commit_loses_all_that_waits(commits: GroupCommit, script: Script) -> None:
    script.going.clear()
    first = commits.put(result(1))
    await begun(script)
    second = commits.put(result(2))
    waiting = [asyncio.create_task(commits.wait_committed(each)) for each in (first, second)]
    await asyncio.sleep(0)
    script.error = ConnectionError("cut")
    script.going.set()
    assert [type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)] == [
        StateLost,
        StateLost,
    ]
    assert script.losses == ["ConnectionError('cut')"]
    assert script.told == []


async def test_after_a_loss_nothing_more_is_taken(commits: GroupCommit, script: Script) -> None:
    good = commits.put(result(1))
    await commits.wait_committed(good)
    script.error = ConnectionError("cut")
    bad = commits.put(result(2))
    for deed in (commits.wait_committed(bad), commits.wait_committed(bad)):
        with pytest.raises(StateLost):
            await deed
    with pytest.raises(StateLost):
        commits.check_capacity()
    with pytest.raises(StateLost):
        commits.put(result(3))
    await commits.wait_committed(good)
    assert commits.stats().lost


async def test_the_tasks_of_a_run_that_ended_follow_in_slices(
    commits: GroupCommit, script: Script
) -> None:
    tasks = tuple(make_task(RUN, number) for number in range(7))
    ended = Changes(runs=(finished("a"),), closings=(Closing(RUN.id, NOW, tasks),))
    await commits.wait_committed(commits.put(ended))
    assert slices(script) == []
    await commits.flush(10)
    assert [len(each) for each in slices(script)] == [3, 3, 1]
    closed = [key for each in slices(script) for key in each.closed]
    assert closed == [(RUN.id, number) for number in range(7)]


async def test_answers_do_not_wait_for_the_slices(commits: GroupCommit, script: Script) -> None:
    tasks = tuple(make_task(RUN, number) for number in range(70))
    ended = Changes(runs=(finished("a"),), closings=(Closing(RUN.id, NOW, tasks),))
    await commits.wait_committed(commits.put(ended))
    await commits.wait_committed(commits.put(result(1)))
    assert len(slices(script)) < 5
    await commits.flush(10)
    assert len(slices(script)) == 24


async def test_no_slice_is_written_before_the_run_that_ended(
    commits: GroupCommit, script: Script
) -> None:
    script.going.clear()
    commits.put(result(1))
    await begun(script)
    for wins in range(2):
        commits.put(result(wins))
    closing = Closing(RUN.id, NOW, (make_task(RUN, 5),))
    script.going.set()
    await asyncio.sleep(0)
    last = commits.put(Changes(runs=(finished("a"),), closings=(closing,)))
    await commits.wait_committed(last)
    await commits.flush(10)
    *_, end, close = script.order
    assert isinstance(end, PendingRows)
    assert end.closed_below
    assert isinstance(close, Slice)


async def test_a_slice_that_fails_is_nobodys_loss(commits: GroupCommit, script: Script) -> None:
    closing = Closing(RUN.id, NOW, (make_task(RUN, 5),))
    await commits.wait_committed(commits.put(Changes(runs=(finished("a"),), closings=(closing,))))
    script.error = ConnectionResetError()
    await commits.flush(10)
    script.error = None
    await commits.wait_committed(commits.put(result(1)))
    assert script.losses == []


def slices(script: Script) -> list[Slice]:
    return [each for each in script.order if isinstance(each, Slice)]


async def test_it_counts_what_it_does(commits: GroupCommit, script: Script) -> None:
    await commits.wait_committed(commits.put(result(1)))
    script.going.clear()
    commits.put(result(2))
    found = commits.stats()
    assert (found.rounds, found.changes, found.largest, found.waiting) == (1, 2, 2, 2)
    assert found.seconds.count == 1
    script.going.set()
