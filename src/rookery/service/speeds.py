"""How fast machines play engines, as they told with their last results.

An engine whose record names no reference speed is scaled to the median of these, which stays with
a run once it is made. It is kept in memory: whoever plays tells it anew with every batch.
"""

from collections import OrderedDict
from statistics import median
from typing import TypeVar

from rookery.core.engine import UPLOADED
from rookery.core.machine import Machine
from rookery.core.plan import Plan

V = TypeVar("V")

MOST_ENGINES = 500
MOST_MACHINES = 1000


class Speeds:
    """One per process; the event loop alone writes here. What was told last is kept longest."""

    def __init__(self) -> None:
        self._told: OrderedDict[str, OrderedDict[str, float]] = OrderedDict()

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
            _shorten(told, MOST_MACHINES)
            _shorten(self._told, MOST_ENGINES)

    def median(self, engine: str) -> float:
        """Nodes per second and thread; 0 where nobody has played it yet."""
        return median(self._told[engine].values()) if engine in self._told else 0.0


def _shorten(kept: "OrderedDict[str, V]", most: int) -> None:
    while len(kept) > most:
        kept.popitem(last=False)
