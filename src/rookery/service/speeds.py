"""How fast machines play engines, as they told with their last results.

An engine whose record names no reference speed is scaled to the median of these, which stays with
a run once it is made. They are in memory, because whoever plays tells them with every batch, and
are written down now and then, so that a restart does not forget the engines nobody plays just then.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Protocol, TypeVar

from rookery.clock import Clock
from rookery.core.engine import UPLOADED
from rookery.core.machine import Machine
from rookery.core.plan import Plan

V = TypeVar("V")

MOST_ENGINES = 500
MOST_MACHINES = 1000


@dataclass(frozen=True, slots=True)
class ToldSpeeds:
    """What machines told of an engine, by their names, the latest at the end."""

    engine: str
    machines: tuple[tuple[str, float], ...]


class SpeedRows(Protocol):
    """The rows. The primary writes them, others read what it wrote."""

    async def everything(self) -> tuple[ToldSpeeds, ...]:
        """The engine that was told of last comes last."""
        ...

    async def save(self, told: ToldSpeeds, now: datetime) -> None:
        """In the place of what was known of that engine."""
        ...


class Speeds:
    """One per process; the event loop alone writes here. What was told last is kept longest."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()
        self._unsaved: set[str] = set()

    def note(self, plan: Plan, machine: Machine) -> None:
        """Only a worker of ours measures each engine by itself, and only where both sides are one
        engine is it known which was measured. Uploaded programs have nothing but a name in common.
        """
        name = plan.engine
        alike = all(side.engine == name for side in plan.sides)
        if machine.abilities.rookery and machine.nps > 0 and alike and name != UPLOADED.name:
            told = self._told.setdefault(name, OrderedDict())
            told[machine.short_name] = machine.nps
            told.move_to_end(machine.short_name)
            self._told.move_to_end(name)
            self._unsaved.add(name)
            _shorten(told, MOST_MACHINES)
            _shorten(self._told, MOST_ENGINES)

    def median(self, engine: str) -> float:
        """Nodes per second and thread; 0 where nobody has played it yet."""
        return median(self._told[engine].values()) if engine in self._told else 0.0

    def unsaved(self) -> tuple[ToldSpeeds, ...]:
        """Engines of which something was told since this was asked last, as they are now."""
        names, self._unsaved = self._unsaved, set()
        return tuple(
            ToldSpeeds(name, tuple(told.items()))
            for name, told in self._told.items()
            if name in names
        )

    def put_off(self, told: Iterable[ToldSpeeds]) -> None:
        """These could not be saved; the next time they are asked for again."""
        self._unsaved |= {each.engine for each in told} & self._told.keys()

    def learn(self, kept: Iterable[ToldSpeeds]) -> None:
        """What was written down; what was told here since then counts more."""
        for each in kept:
            if each.engine not in self._unsaved:
                self._told[each.engine] = OrderedDict(each.machines)
                self._told.move_to_end(each.engine)
        _shorten(self._told, MOST_ENGINES)


@dataclass(frozen=True, slots=True)
class SpeedKeeping:
    """The job: the primary writes down what it was told, every other process reads it."""

    speeds: Speeds
    rows: SpeedRows
    clock: Clock
    is_primary: Callable[[], bool]

    async def load(self) -> None:
        self.speeds.learn(await self.rows.everything())

    async def __call__(self) -> None:
        if not self.is_primary():
            await self.load()
            return
        due = list(self.speeds.unsaved())
        try:
            while due:
                await self.rows.save(due[0], self.clock.now())
                del due[0]
        finally:
            self.speeds.put_off(due)


def _shorten(kept: "OrderedDict[str, V]", most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
