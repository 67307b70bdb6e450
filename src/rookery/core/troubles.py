"""Troubles: failures of a run since its last accepted result, which tell whether it is broken.

Part of the working set, with the same single writer.
"""

from dataclasses import dataclass
from datetime import datetime

MOST_KEPT = 5


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failure, in the worker's words."""

    at: datetime
    worker: str
    message: str


class Troubles:
    """The last few failures of each run."""

    def __init__(self) -> None:
        self._by_run: dict[str, tuple[Trouble, ...]] = {}

    def of(self, run_id: str) -> tuple[Trouble, ...]:
        return self._by_run.get(run_id, ())

    def note(self, run_id: str, trouble: Trouble) -> None:
        self._by_run[run_id] = (*self.of(run_id), trouble)[-MOST_KEPT:]

    def clear(self, run_id: str) -> None:
        """A result came in, or the run ended."""
        self._by_run.pop(run_id, None)
