"""What every kind of run answers: how its games come in, when it ends, what its end means.

A new kind is a module with one frozen class that has these methods. Nothing outside it may assume
how many engines play, that games come in pairs, or that there is a verdict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar

from rookery.core.needs import Need
from rookery.core.results import Results
from rookery.core.stats.flags import Flag
from rookery.core.stats.residuals import WorkerTest

K = TypeVar("K")


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says about its task: all results so far, and what its kind asks besides.

    An official worker reports whole steps of its kind; one of ours, in parts, any whole pairs.
    """

    results: Results
    batch: object | None = None
    in_parts: bool = False


@dataclass(frozen=True, slots=True)
class Folded(Generic[K]):
    """A kind after a report, and what the task must remember from now on."""

    kind: K
    ticket: object | None = None


class Kind(Protocol):
    """The rules of one kind of run together with where a run of it stands; a frozen value."""

    @property
    def name(self) -> str: ...

    @property
    def step(self) -> int:
        """Tasks, and reports of official workers, come in multiples of this many games."""

    @property
    def bonus(self) -> float:
        """An addition to the share of a run that is about to succeed."""

    @property
    def core_limit(self) -> float:
        """A run with more cores than this is given no further ones."""

    @property
    def may_purge(self) -> bool:
        """Whether results can be taken out again afterwards."""

    def needs(self) -> tuple[Need, ...]:
        """What the kind itself asks of a worker."""

    def objection(self, before: Results, report: Report) -> str | None:
        """Why a report can't be true, seen what the same task reported before."""

    def folded(self, results: Results, ticket: object | None, report: Report) -> Folded[Self]:
        """The kind once the run's results are `results`; called once per accepted report."""

    def rejudged(self, results: Results) -> Self:
        """The kind after results were taken out."""

    def is_decided(self, results: Results, games: int) -> bool:
        """Whether a run planned for that many games has nothing left to play."""

    def games_left(self, results: Results, games: int) -> float:
        """How many games it will probably still take."""

    def flag(self, results: Results) -> Flag:
        """What the end means."""

    def resize_objection(self, before: int, after: int) -> str | None:
        """Why the planned number of games may not change so."""

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        """Whether the results of one worker differ from those of the others; None for no test."""
