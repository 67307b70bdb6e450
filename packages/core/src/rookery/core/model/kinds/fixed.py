"""A fixed number of games between two engines, judged by the likelihood of superiority."""

from dataclasses import dataclass
from typing import ClassVar

from rookery.core.model.kinds.kind import (
    AfterReport,
    Outcome,
    PairedGames,
    Report,
    StoredParts,
    estimate_pairs,
    find_outcome,
)
from rookery.core.model.task import Results, Ticket
from rookery.core.stats.sprt import fixed_verdict

MOST_TRIAL_GAMES = 20
"""A side against itself with at most this many games is a trial of whether it plays."""


@dataclass(frozen=True, slots=True)
class Fixed(PairedGames):
    """A test that plays the planned number of games."""

    name: ClassVar[str] = "fixed"
    settings: ClassVar[str] = ""

    @property
    def tune(self) -> None:
        return None

    @classmethod
    def joined(cls, parts: StoredParts) -> "Fixed":
        del parts
        return cls()

    def with_report(
        self, results: Results, ticket: Ticket | None, report: Report
    ) -> AfterReport["Fixed"]:
        del results, report
        return AfterReport(self, ticket)

    def rejudged(self, results: Results) -> "Fixed":
        del results
        return self

    def is_trial(self, games: int) -> bool:
        return games <= MOST_TRIAL_GAMES

    def outcome(self, results: Results) -> Outcome:
        verdict = fixed_verdict(estimate_pairs(results.pentanomial).los)
        return find_outcome(verdict, results)

    def resize_objection(self, before: int, after: int) -> str | None:
        return "a run of fixed length may not grow" if after > before else None
