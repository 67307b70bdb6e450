"""Whether a machine may play a run, and if not, why: the contract's filters as reasons.

A filter looks at one of three things: the demands of the run (equal for a whole class of runs),
the state of the run (which changes with every task), or the past of the machine with that run.
The scheduler's index relies on this split; `objection` puts the three together again in order.
"""

import enum
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from rookery.model import patterns
from rookery.model.machine import Machine, Profile
from rookery.model.plan import Demands, first_missing, missing_team
from rookery.model.run import Run


class Filter(enum.IntEnum):
    """The filters in the order in which they are tried; the first that holds is the reason.

    A run that is not for the machine's owner gives no other reason, because they may know none.
    """

    PRIVATE = 0
    FINISHED = 1
    UNAPPROVED = 2
    THREADS = 3
    MIN_THREADS = 4
    NO_GAMES = 5
    MEMORY = 6
    API_LIMIT = 7
    CROWDED = 8
    ARCH = 9
    COMPILER = 10
    NEED = 11
    NOT_WANTED = 12
    FAILED_HERE = 13


class Reason(NamedTuple):
    """Why a machine does not play a run."""

    filter: Filter
    sentence: str


@dataclass(frozen=True, slots=True)
class Past:
    """What a machine has had to do with runs so far: all it was given, the last one, and those
    it failed to build since it started."""

    seen: AbstractSet[str] = frozenset()
    last: str = ""
    failed: AbstractSet[str] = frozenset()


NO_PAST = Past()
FINISHED = Reason(Filter.FINISHED, "the run is finished")
UNAPPROVED = Reason(Filter.UNAPPROVED, "the run awaits approval")
NO_GAMES = Reason(Filter.NO_GAMES, "all games of the run are being played")
CROWDED = Reason(Filter.CROWDED, "the tune has as many cores as it can use")
API_LIMIT = Reason(
    Filter.API_LIMIT, "the worker is near its GitHub limit and has not played this run before"
)
FAILED_HERE = Reason(Filter.FAILED_HERE, "the worker failed on this run before")


def closed_reason(run: Run) -> Reason | None:
    """Why the run takes no machine at all now."""
    if run.status.finished:
        return FINISHED
    if not run.status.approved:
        return UNAPPROVED
    if run.remaining <= 0:
        return NO_GAMES
    return CROWDED if run.tally.cores > run.kind.core_limit else None


def mismatch(demands: Demands, profile: Profile) -> Reason | None:
    """Why no run of this class suits such a machine."""
    if stranger := missing_team(demands.needs, profile.abilities):
        return Reason(Filter.PRIVATE, stranger.sentence)
    threads, cores = demands.threads, profile.cores
    if threads > cores:
        return Reason(Filter.THREADS, f"the run needs {threads} threads, the machine has {cores}")
    if threads < profile.min_threads:
        text = f"the worker wants at least {profile.min_threads} threads, the run has {threads}"
        return Reason(Filter.MIN_THREADS, text)
    if (need := demands.memory_mib(cores)) > profile.memory:
        text = f"the run needs {need} MiB of memory, the machine offers {profile.memory}"
        return Reason(Filter.MEMORY, text)
    return _misfit(demands, profile)


def _misfit(demands: Demands, profile: Profile) -> Reason | None:
    if demands.arch_filter and not patterns.is_found(demands.arch_filter, profile.arch):
        text = f"the run is not for the architecture {profile.arch}"
        return Reason(Filter.ARCH, text)
    if demands.compiler and demands.compiler != profile.compiler:
        text = f"the run wants {demands.compiler}, the worker compiles with {profile.compiler}"
        return Reason(Filter.COMPILER, text)
    if missing := first_missing(demands.needs, profile.abilities):
        return Reason(Filter.NEED, missing.sentence)
    if profile.only and demands.engine not in profile.only:
        text = f"the worker plays only {', '.join(sorted(profile.only))}"
        return Reason(Filter.NOT_WANTED, text)
    return None


def past_reason(run_id: str, mirrored: bool, machine: Machine, past: Past) -> Reason | None:
    """Why this machine, with its past, is not to play that very run."""
    if machine.near_api_limit and not mirrored and run_id not in past.seen:
        return API_LIMIT
    return FAILED_HERE if run_id in past.failed else None


def objection(run: Run, machine: Machine, past: Past = NO_PAST) -> Reason | None:
    """The first filter that keeps this machine from this run; None when it may play it."""
    return first(
        closed_reason(run),
        mismatch(run.demands, machine.profile),
        past_reason(run.id, run.demands.mirrored, machine, past),
    )


def first(*reasons: Reason | None) -> Reason | None:
    """The reason whose filter is tried first."""
    return min((reason for reason in reasons if reason), default=None)


# Who is served first: the contract's order, by a plain pass over all runs.
#
#     focus     engines the machine's owner prefers come before all others
#     priority  higher first
#     engine    the engine with the fewest cores for its share
#     idle      runs without any core first
#     load      fewest cores for the run's own share, the asking machine counted in half
#     id        the older run
#
# The machine counts in full against the run it played last, so that machines move about. With a
# single engine and no focus the first and third line are equal for all runs, and what is left is
# the contract's order. `index` finds the same run without looking at all of them.

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
        engine not in machine.profile.focus,
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


# The scheduler's settings that an installation may choose.


@dataclass(frozen=True, slots=True)
class Policy:
    """Defaults are the contract's; the machine limit counts per user, or per address if asked."""

    dead_after: timedelta = timedelta(seconds=360)
    duplicate_window: timedelta = timedelta(seconds=120)
    limit_by_address: bool = False
    cores_per_user: int = 4096
    """Cores that a user with the ordinary machine limit may have at play; more in proportion."""
    users_to_stop: int = 2
    """So many users whose machines have the same complaint stop a run, though none of them is
    trusted; however many machines each has."""
    simulated: bool = False
    """Workers of this fleet make their results up, faster than games can be played."""


STANDARD_POLICY = Policy()
