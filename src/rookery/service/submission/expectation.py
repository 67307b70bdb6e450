"""How many games a new run will take: all of them, or as many as a sequential test usually does."""

from collections.abc import Iterable

from rookery.core.kinds import SprtTest
from rookery.core.machine import Machine
from rookery.core.needs import first_missing
from rookery.core.run import Run
from rookery.core.stats.length import Length, length_at
from rookery.core.stats.pace import pace_of

EDGES = (0.0, 0.5, 1.0)
"""At the lower bound, in the middle, at the upper bound."""


def expected_lengths(run: Run) -> tuple[Length, ...]:
    """Of a sequential test; costs milliseconds."""
    if not isinstance(run.kind, SprtTest):
        return ()
    spec, most = run.kind.spec, float(run.plan.games)
    pace, width = pace_of(spec), spec.elo1 - spec.elo0
    return tuple(length_at(pace, spec.elo0 + width * edge, max_games=most) for edge in EDGES)


def able_machines(run: Run, machines: Iterable[Machine]) -> list[Machine]:
    """Those of the machines that could play the run, each once."""
    able = {
        machine.short_name: machine
        for machine in machines
        if first_missing(run.demands.needs, machine.abilities) is None
        and run.demands.slots(machine.cores)
    }
    return list(able.values())


def expected_games(run: Run) -> float:
    """The mean length of a sequential test at the middle of its bounds, where it takes longest."""
    most = float(run.plan.games)
    if not isinstance(run.kind, SprtTest):
        return most
    spec = run.kind.spec
    return min(most, pace_of(spec).walk((spec.elo0 + spec.elo1) / 2).mean_time())
