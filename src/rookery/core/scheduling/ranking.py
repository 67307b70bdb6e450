"""Who is served first: the contract's order, by a plain pass over all runs.

    focus     engines the machine's owner prefers come before all others
    priority  higher first
    engine    the engine with the fewest cores for its share
    idle      runs without any core first
    load      fewest cores for the run's own share, the asking machine counted in half
    id        the older run

The machine counts in full against the run it played last, so that machines move about. With a
single engine and no focus the first and third line are equal for all runs, and what is left is
the contract's order. `index` finds the same run without looking at all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.scheduling.eligibility import NO_PAST, Past, Reason, objection

Claim = tuple[bool, float, str]
"""Busy, load and id of a run within its engine and priority; the smallest is served first."""
Rank = tuple[bool, int, float, str, bool, float, str]


@dataclass(frozen=True, slots=True)
class EngineLoads:
    """Cores at work per engine, and how much of the fleet each engine is entitled to."""

    cores: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    def load(self, engine: str, cores: int) -> float:
        return (self.cores.get(engine, 0) + cores / 2) / self.shares.get(engine, 1.0)


def claim(run_id: str, cores: int, share: float, machine_cores: int) -> Claim:
    """How a run stands within its engine and priority, seen by a machine of that size."""
    return cores > 0, (cores + machine_cores / 2) / share, run_id


def rank(run: Run, machine: Machine, past: Past, loads: EngineLoads) -> Rank:
    """The whole order as a key; the smallest is served first."""
    engine = run.plan.engine
    again = machine.cores if run.id == past.last else 0
    return (
        engine not in machine.focus,
        -run.plan.priority,
        loads.load(engine, machine.cores),
        engine,
        *claim(run.id, run.tally.cores + again, run.share, machine.cores),
    )


def engine_loads(runs: Iterable[Run], shares: Mapping[str, float]) -> EngineLoads:
    """The loads that these runs make up."""
    cores: dict[str, int] = {}
    for run in runs:
        cores[run.plan.engine] = cores.get(run.plan.engine, 0) + run.tally.cores
    return EngineLoads(cores, shares)


def choose(
    runs: Iterable[Run], machine: Machine, past: Past = NO_PAST, loads: EngineLoads | None = None
) -> Run | None:
    """The run this machine should play, or None."""
    runs = list(runs)
    counted = loads or engine_loads(runs, {})
    fit = [run for run in runs if objection(run, machine, past) is None]
    return min(fit, key=lambda run: rank(run, machine, past, counted), default=None)


def reasons(runs: Iterable[Run], machine: Machine, past: Past = NO_PAST) -> dict[Reason, int]:
    """For each reason the number of runs it keeps the machine from."""
    counts: dict[Reason, int] = {}
    for run in runs:
        if reason := objection(run, machine, past):
            counts[reason] = counts.get(reason, 0) + 1
    return counts
