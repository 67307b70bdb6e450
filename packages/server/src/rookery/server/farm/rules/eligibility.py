"""Decides whether a machine may play a run, and if not, why: the contract's filters as reasons.

A filter examines one of three things: the demands of the run (equal for a whole class of runs), the
state of the run (which changes with every task), or the machine's past with that run. The
scheduler's index relies on this split; `objection` combines the three in order.
"""

import enum
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import timedelta
from typing import NamedTuple

from rookery.core.model.machine import Machine, Profile
from rookery.core.model.plan import Demands, first_missing, missing_team
from rookery.core.model.run import Run
from rookery.server.farm.rules import patterns


class Filter(enum.IntEnum):
    """The filters in the order in which they are tried; the first that applies is the reason.

    For a run that is hidden from the machine's owner this is the only reason given, since others
    would reveal something about it.
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
    NOISY = 12
    NOT_WANTED = 13
    FAILED_HERE = 14


class Reason(NamedTuple):
    """Why a machine does not play a run."""

    filter: Filter
    sentence: str


@dataclass(frozen=True, slots=True)
class Past:
    """A machine's past with runs: all that it was given, the last one, and those that it failed to
    build since it started."""

    seen: AbstractSet[str] = frozenset()
    last: str = ""
    failed: AbstractSet[str] = frozenset()


NO_PAST = Past()
FINISHED = Reason(Filter.FINISHED, "the run is finished")
UNAPPROVED = Reason(Filter.UNAPPROVED, "the run awaits approval")
NO_GAMES = Reason(Filter.NO_GAMES, "all games of the run are being played")
CROWDED = Reason(Filter.CROWDED, "the tune has as many cores as it can use")
NOISY = Reason(Filter.NOISY, "the run needs exact times, and the machine is noisy")
API_LIMIT = Reason(
    Filter.API_LIMIT, "the worker is near its GitHub limit and has not played this run before"
)
FAILED_HERE = Reason(Filter.FAILED_HERE, "the worker failed on this run before")


def closed_reason(run: Run) -> Reason | None:
    """Why the run takes no machine at all now; None if it is open."""
    if run.status.finished:
        return FINISHED
    if not run.status.approved:
        return UNAPPROVED
    if run.remaining <= 0:
        return NO_GAMES
    return CROWDED if run.tally.cores > run.kind.core_limit else None


def mismatch(demands: Demands, profile: Profile) -> Reason | None:
    """Why runs with these demands don't suit machines of this profile; None if they do."""
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
    if demands.timed and profile.abilities.noisy:
        return NOISY
    if profile.only and demands.engine not in profile.only:
        text = f"the worker plays only {', '.join(sorted(profile.only))}"
        return Reason(Filter.NOT_WANTED, text)
    return None


def past_reason(run_id: str, mirrored: bool, machine: Machine, past: Past) -> Reason | None:
    """Why this machine's past excludes this run; None if it does not."""
    if machine.near_api_limit and not mirrored and run_id not in past.seen:
        return API_LIMIT
    return FAILED_HERE if run_id in past.failed else None


def objection(run: Run, machine: Machine, past: Past = NO_PAST) -> Reason | None:
    """Return the first filter that keeps this machine from this run; None when it may play it."""
    return first(
        closed_reason(run),
        mismatch(run.demands, machine.profile),
        past_reason(run.id, run.demands.mirrored, machine, past),
    )


def first(*reasons: Reason | None) -> Reason | None:
    """Return the reason whose filter is tried first."""
    return min((reason for reason in reasons if reason), default=None)


# The order in which runs are served: the contract's, by a plain pass over all runs.
#
#     focus     engines the machine's owner prefers come before all others
#     priority  higher first
#     engine    the engine with the fewest cores for its share
#     idle      runs without any core first
#     load      fewest cores for the run's own share, the asking machine counted in half
#     id        the older run
#
# The machine's cores count in full against the run that it played last, so that machines change
# between runs. With a single engine and no focus, the first and third criteria are equal for all
# runs, and the rest is the contract's order. `run_index` finds the same run without looking at all
# of them.

Claim = tuple[bool, float, str]
"""Whether a run is busy, its load and its id, which order runs of the same engine and priority; the
smallest is served first."""
Rank = tuple[bool, int, float, str, bool, float, str]


@dataclass(frozen=True, slots=True)
class EngineLoads:
    """The cores at work for each engine, and the share of the fleet that each is entitled to."""

    cores: Mapping[str, int] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)

    def load(self, engine: str, cores: int) -> float:
        return (self.cores.get(engine, 0) + cores / 2) / self.shares.get(engine, 1.0)


def claim(run_id: str, cores: int, share: float, machine_cores: int) -> Claim:
    """Return the claim of a run on a machine with `machine_cores` cores."""
    return cores > 0, (cores + machine_cores / 2) / share, run_id


def rank(run: Run, machine: Machine, past: Past, loads: EngineLoads) -> Rank:
    """Return the complete order as a sort key; the smallest is served first."""
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
    """Return the loads of the engines, summed over these runs."""
    cores: dict[str, int] = {}
    for run in runs:
        cores[run.plan.engine] = cores.get(run.plan.engine, 0) + run.tally.cores
    return EngineLoads(cores, shares)


def choose(
    runs: Iterable[Run], machine: Machine, past: Past = NO_PAST, loads: EngineLoads | None = None
) -> Run | None:
    """Return the run that this machine should play; None if there is none."""
    runs = list(runs)
    counted = loads or engine_loads(runs, {})
    fit = [run for run in runs if objection(run, machine, past) is None]
    return min(fit, key=lambda run: rank(run, machine, past, counted), default=None)


def reasons(runs: Iterable[Run], machine: Machine, past: Past = NO_PAST) -> dict[Reason, int]:
    """For each reason, the number of runs that it excludes for this machine."""
    counts: dict[Reason, int] = {}
    for run in runs:
        if reason := objection(run, machine, past):
            counts[reason] = counts.get(reason, 0) + 1
    return counts


@dataclass(frozen=True, slots=True)
class Policy:
    """The scheduler's settings; the defaults are the contract's. The machine limit counts per user,
    or per address if `limit_by_address` is set."""

    dead_after: timedelta = timedelta(seconds=360)
    duplicate_window: timedelta = timedelta(seconds=120)
    limit_by_address: bool = False
    cores_per_user: int = 4096
    """The most cores at play for a user with the ordinary machine limit; proportionally more with a
    higher one."""
    users_to_stop: int = 2
    """How many users' machines must make the same complaint to stop a run when none of them is
    trusted; several machines of one user count once."""
    simulated: bool = False
    """The fleet is simulated: its results come faster than games can be played."""


STANDARD_POLICY = Policy()
