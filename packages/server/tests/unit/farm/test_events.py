"""The event bus: a position in what changed last, moved by commits and by what rows say."""

import random
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from rookery.server.farm.events import FROM_THE_START, PAUSE_SECONDS, Bus, Notice, Wanted
from rookery.server.farm.read_values import ChangedRuns
from tests.eventually import eventually
from tests.twins.farm import MemoryReads
from tests.twins.farm_commits import MemoryRows

pytestmark = pytest.mark.anyio


class Rows(MemoryReads):
    """Rows that say what the test puts there, once it lets them."""

    def __init__(self) -> None:
        super().__init__(MemoryRows())
        self.sequence = 0
        self.sequences: Mapping[str, int] = {}
        self.failing = False
        self.asked: list[int] = []

    async def changed(self, after: int, most: int) -> ChangedRuns:
        self.asked.append(after)
        if self.failing:
            raise OSError("away")
        latest = sorted(self.sequences.items(), key=lambda pair: -pair[1])
        found = {run: at for run, at in latest if at > after}
        return ChangedRuns(self.sequence, dict(list(found.items())[:most]), len(found) <= most)


@pytest.fixture
def rows() -> Rows:
    return Rows()


@pytest.fixture
async def bus(rows: Rows) -> AsyncIterator[Bus]:
    async with Bus(rows, kept=3).opened() as opened:
        await eventually(lambda: not opened.stats().behind)
        yield opened


async def test_a_subscriber_is_told_what_a_commit_changed(bus: Bus) -> None:
    with bus.subscribe() as subscription:
        bus.add(1, ["a", "b"])
        assert await anext(subscription) == Notice(1, frozenset({"a", "b"}))


async def test_many_commits_are_one_notice(bus: Bus) -> None:
    with bus.subscribe() as subscription:
        bus.add(1, ["a"])
        await anext(subscription)
        await eventually(lambda: bus.stats().rounds == 1)
        for sequence in range(2, 100):
            bus.add(sequence, ["a"])
        assert await anext(subscription) == Notice(99, frozenset({"a"}))
        assert bus.stats().rounds <= 2


async def test_a_subscriber_to_one_run_hears_of_no_other(bus: Bus) -> None:
    with bus.subscribe(Wanted("b")) as subscription:
        bus.add(1, ["a"])
        bus.add(2, ["b"])
        bus.add(3, ["a"])
        assert await anext(subscription) == Notice(3, frozenset({"b"}))
        bus.add(4, ["a"])
        with anyio.move_on_after(2 * PAUSE_SECONDS) as waiting:
            await anext(subscription)
        assert waiting.cancelled_caught


async def test_who_comes_back_is_told_what_changed_since(bus: Bus) -> None:
    bus.add(1, ["a"])
    bus.add(2, ["b"])
    bus.add(3, ["c"])
    with bus.subscribe(after=1) as subscription:
        assert await anext(subscription) == Notice(3, frozenset({"b", "c"}))
    with bus.subscribe(Wanted("a"), after=1) as one, anyio.move_on_after(0.01) as waiting:
        await anext(one)
    assert waiting.cancelled_caught


async def test_who_is_too_far_behind_is_told_to_look_at_everything(bus: Bus) -> None:
    with bus.subscribe() as subscription:
        for sequence, run in enumerate("abcde", 1):
            bus.add(sequence, [run])
        assert await anext(subscription) == Notice(5, frozenset("cde"), missed=True)
        bus.add(6, ["c"])
        assert await anext(subscription) == Notice(6, frozenset("c"))


async def test_a_number_that_was_never_given_out_means_the_start(bus: Bus) -> None:
    for sequence, run in enumerate("abcde", 1):
        bus.add(sequence, [run])
    with bus.subscribe(after=1000) as subscription:
        assert subscription.position == FROM_THE_START
        assert (await anext(subscription)).missed


async def test_who_was_told_of_a_commit_elsewhere_is_told_what_changed_since(
    bus: Bus, rows: Rows
) -> None:
    bus.add(1, ["a"])
    rows.sequence, rows.sequences = 3, {"a": 1, "b": 2, "c": 3}
    await bus.reach(2, seconds=60)
    assert rows.asked[1:] == [1]
    with bus.subscribe(after=2) as subscription:
        assert await anext(subscription) == Notice(3, frozenset({"c"}))


async def test_rows_are_asked_once_for_all_who_come_with_an_unknown_number(
    bus: Bus, rows: Rows
) -> None:
    rows.sequence, rows.sequences = 3, {"a": 3}
    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(partial(bus.reach, 3, seconds=60))
    assert rows.asked[1:] == [0]


async def test_nobody_waits_for_rows_without_end(bus: Bus, rows: Rows) -> None:
    rows.failing = True
    await bus.reach(2, seconds=0.01)
    with bus.subscribe(after=2) as subscription:
        assert subscription.position == FROM_THE_START


async def test_after_a_gap_the_rows_say_what_changed(bus: Bus, rows: Rows) -> None:
    bus.add(1, ["a"])
    with bus.subscribe() as subscription:
        rows.sequence, rows.sequences = 4, {"a": 1, "b": 4}
        bus.miss()
        assert await anext(subscription) == Notice(4, frozenset({"b"}))
    assert rows.asked[-1] == 1


async def test_nobody_moves_beyond_a_gap_before_the_rows_were_asked(bus: Bus, rows: Rows) -> None:
    bus.add(1, ["a"])
    rows.failing = True
    bus.miss()
    with bus.subscribe() as subscription:
        bus.add(5, ["c"])
        assert await anext(subscription) == Notice(1, frozenset({"c"}))
        rows.failing, rows.sequence, rows.sequences = False, 5, {"b": 3, "c": 5}
        await eventually(lambda: not bus.stats().behind)
        assert await anext(subscription) == Notice(5, frozenset({"b", "c"}))


async def test_what_was_told_here_already_is_not_heard_again(bus: Bus, rows: Rows) -> None:
    bus.add(3, ["a"])
    bus.hear(0, 3, ["a"])
    bus.hear(0, 2, None)
    assert not bus.stats().behind
    bus.hear(3, 4, ["b"])
    assert bus.since(3) == Notice(4, frozenset({"b"}))


@pytest.mark.parametrize("notice", [(7, 8, ["c"]), (3, 8, None)])
async def test_a_notice_after_one_that_was_not_heard_is_a_gap(
    bus: Bus, rows: Rows, notice: tuple[int, int, list[str] | None]
) -> None:
    bus.add(3, ["a"])
    rows.sequence, rows.sequences = 8, {"b": 6, "c": 8}
    bus.hear(*notice)
    assert bus.stats().behind
    await eventually(lambda: bus.sequence == 8)
    assert bus.since(3).runs == {"b", "c"}


async def test_a_new_tenure_that_goes_on_from_what_was_heard_is_no_gap(bus: Bus) -> None:
    bus.add(3, ["a"])
    bus.begin(3)
    assert not bus.stats().behind
    bus.begin(4)
    assert bus.stats().behind


async def test_what_could_not_be_used_is_told_again(bus: Bus) -> None:
    with bus.subscribe() as subscription:
        bus.add(1, ["a"])
        before = subscription.position
        notice = await anext(subscription)
        subscription.put_back(before)
        assert await anext(subscription) == notice


async def test_a_bus_forgets_who_has_left(bus: Bus) -> None:
    with bus.subscribe(), bus.subscribe(Wanted("a")), bus.subscribe(Wanted("a")):
        assert bus.stats().subscribers == 3
    assert bus.stats().subscribers == 0


async def test_only_the_latest_rows_are_kept_at_the_start(rows: Rows) -> None:
    rows.sequence, rows.sequences = 9, dict(zip("abcdef", range(4, 10), strict=True))
    async with Bus(rows, kept=3).opened() as bus:
        await eventually(lambda: not bus.stats().behind)
        assert bus.since(7) == Notice(9, frozenset("ef"))
        assert bus.since(6).missed


async def test_a_thousand_readers_are_woken_some_at_a_time(bus: Bus) -> None:
    with ExitStack() as stack:
        readers = [stack.enter_context(bus.subscribe(Wanted("a"))) for _ in range(1000)]
        bus.add(1, ["a"])
        for reader in readers:
            assert (await anext(reader)).sequence == 1


async def test_a_gap_that_is_too_wide_stays_one_when_old_runs_are_dropped(rows: Rows) -> None:
    async with Bus(rows, kept=3).opened() as bus:
        await eventually(lambda: not bus.stats().behind)
        bus.add(1, ["old"])
        rows.sequence, rows.sequences = 9, dict(zip("abcdef", range(4, 10), strict=True))
        bus.miss()
        await eventually(lambda: bus.sequence == 9)
        bus.add(10, ["g"])
        assert bus.since(6).missed


RUNS = "abcdefghij"
KEPT = 6
STEPS = 600


class Farm(MemoryReads):
    """Commits by this process or by another one, whose notices reach the bus here or do not."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__(MemoryRows())
        self.chance = chance
        self.bus = Bus(self, kept=KEPT, retry_seconds=0)
        self.sequence = 0
        self.changed_at: dict[str, int] = {}
        self.primary = False
        self.told = 0
        self.untold: set[str] = set()

    async def changed(self, after: int, most: int) -> ChangedRuns:
        found = {run: at for run, at in self.changed_at.items() if at > after}
        sequence = self.sequence
        await anyio.lowlevel.checkpoint()
        if self.chance.random() < 0.2:
            raise ConnectionError
        latest = sorted(found.items(), key=lambda pair: -pair[1])
        return ChangedRuns(sequence, dict(latest[:most]), len(latest) <= most)

    def commit(self) -> list[str]:
        self.sequence += 1
        runs = self.chance.sample(RUNS, self.chance.randint(0, 3))
        self.changed_at |= dict.fromkeys(runs, self.sequence)
        self.untold.update(runs)
        return runs

    def commit_elsewhere(self) -> None:
        self.primary = False
        self.commit()

    def commit_here(self) -> None:
        if not self.primary:
            self.primary = True
            self.bus.begin(self.sequence)
        runs = self.commit()
        self.bus.add(self.sequence, runs)

    def tell(self) -> None:
        runs = None if self.chance.random() < 0.1 else sorted(self.untold)
        self.bus.hear(self.told, self.sequence, runs)
        self.told, self.untold = self.sequence, set()

    def lose_notice(self) -> None:
        self.told, self.untold = self.sequence, set()


class Onlooker:
    """Looks at the rows of each run it is told of, and knows of no other."""

    def __init__(self, farm: Farm) -> None:
        self.farm = farm
        self.position = FROM_THE_START
        self.knows: dict[str, int] = {}

    def read(self) -> None:
        notice = self.farm.bus.since(self.position)
        looked_at = self.farm.changed_at if notice.missed else notice.runs
        self.knows |= {run: self.farm.changed_at[run] for run in looked_at}
        self.position = notice.sequence


@pytest.mark.parametrize("seed", range(12))
async def test_readers_learn_of_every_change(seed: int) -> None:
    chance = random.Random(seed)
    farm = Farm(chance)
    slow, quick = Onlooker(farm), Onlooker(farm)
    commits = (*6 * (farm.commit_elsewhere,), farm.commit_here)
    deeds = (*commits, *3 * (farm.tell,), *2 * (farm.lose_notice,))
    async with farm.bus.opened():
        for _ in range(STEPS):
            chance.choice(deeds)()
            quick.read()
            if chance.random() < 0.05:
                slow.read()
            if chance.random() < 0.5:
                await anyio.lowlevel.checkpoint()
        farm.bus.miss()
        await eventually(lambda: not farm.bus.stats().behind)
        for reader in (slow, quick):
            reader.read()
            assert reader.knows == farm.changed_at
            assert reader.position == farm.sequence
