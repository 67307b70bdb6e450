"""Troubles: what workers complain about, which tells whether a run is broken or a machine is.

Failures count since the last accepted result. Complaints about the run itself (a wrong bench) are
kept until it ends: one machine with bad memory must not stop a run, but when machines of several
users say the very same, the run is to blame. Names of machines are free to invent, so that users
are counted.

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
        self._complaints: dict[str, dict[str, set[str]]] = {}

    def of(self, run_id: str) -> tuple[Trouble, ...]:
        return self._by_run.get(run_id, ())

    def note(self, run_id: str, trouble: Trouble) -> None:
        self._by_run[run_id] = (*self.of(run_id), trouble)[-MOST_KEPT:]

    def complain(self, run_id: str, message: str, user: str) -> int:
        """Note a complaint about the run itself; returns how many users have said the same."""
        users = self._complaints.setdefault(run_id, {}).setdefault(message, set())
        users.add(user)
        return len(users)

    def clear(self, run_id: str) -> None:
        """A result came in."""
        self._by_run.pop(run_id, None)

    def forget(self, run_id: str) -> None:
        """The run ended."""
        self.clear(run_id)
        self._complaints.pop(run_id, None)
