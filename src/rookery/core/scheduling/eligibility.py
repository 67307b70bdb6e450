"""Whether a machine may play a run, and if not, why: the contract's filters as reasons.

A filter looks at one of three things: the demands of the run (equal for a whole class of runs),
the standing of the run (which changes with every task), or the past of the machine with that run.
The scheduler's index relies on this split; `objection` puts the three together again in order.
"""

import enum
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from rookery.core import patterns
from rookery.core.demands import Demands
from rookery.core.machine import Machine, Profile
from rookery.core.needs import first_missing, missing_team
from rookery.core.run import Run


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


def standing(run: Run) -> Reason | None:
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


def estranged(run_id: str, mirrored: bool, machine: Machine, past: Past) -> Reason | None:
    """Why this machine, with its past, is not to play that very run."""
    if machine.near_api_limit and not mirrored and run_id not in past.seen:
        return API_LIMIT
    return FAILED_HERE if run_id in past.failed else None


def objection(run: Run, machine: Machine, past: Past = NO_PAST) -> Reason | None:
    """The first filter that keeps this machine from this run; None when it may play it."""
    return first(
        standing(run),
        mismatch(run.demands, machine.profile),
        estranged(run.id, run.demands.mirrored, machine, past),
    )


def first(*reasons: Reason | None) -> Reason | None:
    """The reason whose filter is tried first."""
    return min((reason for reason in reasons if reason), default=None)
