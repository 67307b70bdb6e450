"""Whatever is told, missed or told late, a reader ends up knowing the last state of every run."""

import random

import anyio
import anyio.lowlevel
import pytest

from rookery.farm.events import FROM_THE_START, Bus
from rookery.farm.ports import ChangedRuns
from tests.eventually import eventually
from tests.twins.farm import MemoryReads, MemoryRows

pytestmark = pytest.mark.anyio

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
