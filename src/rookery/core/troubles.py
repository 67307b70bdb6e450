"""Troubles: what workers complain about, which tells whether a run is broken or a machine is.

Failures count since the last accepted result. Complaints about the run itself (a wrong bench) are
kept until it ends: one machine with bad memory must not stop a run, but when machines of several
users say the very same, the run is to blame. Names of machines are free to invent, so that users
are counted.

Part of the working set, with the same single writer.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core.events import Event, is_by_worker
from rookery.core.scheduling.crowd import HourlyCounts

MOST_KEPT = 5
MOST_LINES = 500
"""What the machines of one user may write into the log within an hour."""


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


class LogBound:
    """Keeps workers from flooding the log of actions: what is too much is left out and counted, and
    the user's next line that is written says how many were."""

    def __init__(self) -> None:
        self._lines = HourlyCounts()
        self._left_out: dict[str, int] = {}

    def kept(self, events: Iterable[Event]) -> tuple[Event, ...]:
        """Those of the events that are written."""
        return tuple(filter(None, map(self._kept, events)))

    def _kept(self, event: Event) -> Event | None:
        if not is_by_worker(event):
            return event
        if self._lines.add(event.actor, 1, event.at) > MOST_LINES:
            self._left_out[event.actor] = self._left_out.get(event.actor, 0) + 1
            return None
        left_out = self._left_out.pop(event.actor, 0)
        if not left_out:
            return event
        return replace(event, message=f"{event.message} ({left_out} lines were left out)".strip())
