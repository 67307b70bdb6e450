"""Tuning of an engine's options: two perturbed copies play, and each batch moves the values.

The ticket of a task holds what was drawn for the batch that is being played. A report with a
batch uses it up, so that no batch moves the values twice.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rookery.core.kinds.kind import Folded, Report
from rookery.core.kinds.pairs import PairedGames
from rookery.core.needs import Need, NeedWord
from rookery.core.results import Results
from rookery.core.spsa import (
    Batch,
    Draw,
    Issued,
    Perturbation,
    Tune,
    fold_all,
    perturb,
    perturb_final,
)
from rookery.core.stats.flags import Flag
from rookery.core.stats.residuals import WorkerTest

CORES_FOR_ONE_PARAMETER = 200_000
"""Too many machines at once move the values by stale results."""

Ticket = tuple[Issued, ...]
Batches = tuple[Batch, ...]
"""What a report of this kind carries: one entry per perturbation, in the order of the ticket."""


@dataclass(frozen=True, slots=True)
class SpsaTuning(PairedGames):
    """A tune and how far it has come."""

    tune: Tune

    @property
    def name(self) -> str:
        return "spsa"

    @property
    def core_limit(self) -> float:
        return CORES_FOR_ONE_PARAMETER / math.sqrt(len(self.tune.parameters))

    @property
    def may_purge(self) -> bool:
        # The values have moved by the games already; taking games out would not move them back.
        return False

    def needs(self) -> tuple[Need, ...]:
        return (Need(NeedWord.FLOAT_SPSA),) if self.tune.needs_floats else ()

    def objection(self, before: Results, report: Report) -> str | None:
        added = report.results.games - before.games
        batches = _batches(report)
        if batches and added <= 0:
            return "a batch of the tune adds no games"
        if batches and sum(batch.games for batch in batches) != added:
            return "the batch of the tune is not as long as the games it adds"
        return PairedGames.objection(self, before, report)

    def folded(
        self, results: Results, ticket: object | None, report: Report
    ) -> Folded["SpsaTuning"]:
        del results
        batches = _batches(report)
        if not batches:
            return Folded(self, ticket)
        pairs = zip(_issued(ticket), batches, strict=False)
        return Folded(SpsaTuning(fold_all(self.tune, pairs)))

    def rejudged(self, results: Results) -> "SpsaTuning":
        del results
        return self

    def flag(self, results: Results) -> Flag:
        del results
        return Flag.NONE

    def resize_objection(self, before: int, after: int) -> str | None:
        return "the length of a tune may not change" if after != before else None

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        del workers
        return None

    def perturbed(self, draw: bytes) -> Perturbation:
        """Values for an official worker, which rounds them itself."""
        return perturb(self.tune, draw)

    def perturbed_finally(self, draws: Iterable[Draw]) -> tuple[Perturbation, ...]:
        """Final values for a worker of ours, one perturbation per slot."""
        return perturb_final(self.tune, draws)


def ticket_of(perturbations: Iterable[Perturbation]) -> Ticket:
    """What a task must remember of the values it was given."""
    return tuple(each.issued for each in perturbations)


def _batches(report: Report) -> Batches:
    given = report.batch
    if not isinstance(given, tuple):
        return ()
    return tuple(batch for batch in given if isinstance(batch, Batch))


def _issued(ticket: object | None) -> Ticket:
    if not isinstance(ticket, tuple):
        return ()
    return tuple(each for each in ticket if isinstance(each, Issued))
