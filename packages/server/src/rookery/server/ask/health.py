"""Statistics of Ask: questions by outcome, durations of searches and answers, and whether the model
works.

Only the event loop writes here; /metrics shows a snapshot.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from rookery.core.boundary.watch import Histogram

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)
EMPTY = Histogram(SECONDS, (0,) * (len(SECONDS) + 1))


class AnswerOutcome(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    UNFOUND = "unfound"
    """The question was answered, but nothing was found."""
    FAILED = "failed"
    LEFT = "left"
    """The user abandoned the answer."""


@dataclass(frozen=True, slots=True)
class AskStats:
    """The counters since the start."""

    answerer: str
    questions: Mapping[str, int]
    searches: Histogram
    answers: Histogram
    first_pieces: Histogram
    model_calls: int
    model_failures: int
    model_works: bool
    """Whether the model's last answer succeeded."""


class AskHealth:
    """Collects the statistics. One per site."""

    def __init__(self, answerer: str) -> None:
        self._answerer = answerer
        self._questions: Counter[str] = Counter({each.value: 0 for each in AnswerOutcome})
        self._searches = self._answers = self._first = EMPTY
        self._model_calls = self._model_failures = 0

    def note_search(self, seconds: float) -> None:
        self._searches = self._searches.with_one(seconds)

    def note_first_piece(self, seconds: float) -> None:
        """Note how long a user waited for the first piece of an answer."""
        self._first = self._first.with_one(seconds)

    def note_answer(self, outcome: AnswerOutcome, seconds: float) -> None:
        self._questions[outcome.value] += 1
        self._answers = self._answers.with_one(seconds)

    def note_model_call(self) -> None:
        self._model_calls += 1

    def note_model_failure(self) -> None:
        self._model_failures += 1

    def stats(self, *, model_works: bool) -> AskStats:
        return AskStats(
            answerer=self._answerer,
            questions=dict(self._questions),
            searches=self._searches,
            answers=self._answers,
            first_pieces=self._first,
            model_calls=self._model_calls,
            model_failures=self._model_failures,
            model_works=model_works,
        )
