"""Tuning of an engine's options: two perturbed copies play, and the result of each batch moves the
values.

The ticket of a task contains the perturbations of the batch that it plays. A report with a batch
uses it up, so that no batch moves the values twice.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from rookery.core.model.kinds.kind import (
    AfterReport,
    Outcome,
    PairedGames,
    Report,
    StoredParts,
    StoredTypes,
)
from rookery.core.model.plan import Need, NeedWord
from rookery.core.model.task import Results, Ticket
from rookery.core.stats.elo import EloInterval
from rookery.core.stats.residuals import WorkerTest
from rookery.core.stats.spsa import (
    ParameterSample,
    Perturbation,
    Tune,
    fold_all,
)
from rookery.core.stats.spsa_parameters import GainSchedule, Parameter, remarks

CORES_FOR_ONE_PARAMETER = 200_000
"""The most cores per parameter; with too many machines the values are moved by stale results."""


@dataclass(frozen=True, slots=True)
class SpsaTuning(PairedGames):
    """A tune with its progress."""

    name: ClassVar[str] = "spsa"
    settings: ClassVar[str] = "spsa"
    stored: ClassVar = StoredTypes(
        tuple[GainSchedule, tuple[Parameter, ...]],
        tuple[tuple[float, ...], int],
        tuple[ParameterSample, ...],
    )
    compares: ClassVar = False
    # The games have already moved the values, and removing them would not undo that.
    may_purge: ClassVar = False

    tune: Tune

    @property
    def core_limit(self) -> float:
        return CORES_FOR_ONE_PARAMETER / math.sqrt(len(self.tune.parameters))

    @property
    def parts(self) -> StoredParts:
        tune = self.tune
        rules, progress = (tune.schedule, tune.parameters), (tune.thetas, tune.iteration)
        return StoredParts(rules, progress, tune.history)

    @classmethod
    def joined(cls, parts: StoredParts) -> "SpsaTuning":
        (schedule, parameters), (thetas, iteration) = parts.rules, parts.progress
        return cls(Tune(schedule, parameters, thetas, iteration, parts.trail))

    def needs(self) -> tuple[Need, ...]:
        return (Need(NeedWord.FLOAT_SPSA),) if self.tune.needs_floats else ()

    def objection(self, before: Results, report: Report) -> str | None:
        added = report.results.games - before.games
        if report.batch and added <= 0:
            return "a batch of the tune adds no games"
        if report.batch and sum(batch.games for batch in report.batch) != added:
            return "the batch of the tune is not as long as the games it adds"
        return PairedGames.objection(self, before, report)

    def with_report(
        self, results: Results, ticket: Ticket | None, report: Report
    ) -> AfterReport["SpsaTuning"]:
        del results
        if not report.batch:
            return AfterReport(self, ticket)
        pairs = zip(ticket or (), report.batch, strict=False)
        return AfterReport(SpsaTuning(fold_all(self.tune, pairs)))

    def rejudged(self, results: Results) -> "SpsaTuning":
        del results
        return self

    def outcome(self, results: Results) -> Outcome:
        del results
        return Outcome.OPEN

    def estimate(self, results: Results) -> EloInterval | None:
        del results
        return None

    def remarks(self) -> tuple[str, ...]:
        return tuple(remark.text for remark in remarks(self.tune.parameters))

    def resize_objection(self, before: int, after: int) -> str | None:
        return "the length of a tune may not change" if after != before else None

    def judge(self, workers: Mapping[str, Results]) -> WorkerTest | None:
        del workers
        return None


def ticket_of(perturbations: Iterable[Perturbation]) -> Ticket:
    """Return the ticket with which a task remembers the values that it was given."""
    return tuple(each.issued for each in perturbations)
