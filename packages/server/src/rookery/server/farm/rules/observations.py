"""What is observed of tasks besides their results: failures, signs of life, and the length of
games.

Failures are kept until the next accepted result. Complaints about the run itself (a wrong bench)
are kept until it ends: one machine with bad memory must not stop a run, but when machines of
several users make the same complaint, the run is at fault. Users are counted instead of machines,
because names of machines can be invented.

All of this is part of the working set, with the same single writer.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from msgspec.structs import replace

from rookery.core.model.events import Event, is_by_worker
from rookery.core.model.machine import Machine
from rookery.core.model.run import Run
from rookery.core.model.task import TaskKey
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.machines import HourlyCounts

MOST_KEPT = 5
MOST_COMPLAINTS = 50
"""The most different complaints about one run."""
MOST_LINES = 500
"""The most lines that the machines of one user may write into the log within an hour."""


@dataclass(frozen=True, slots=True)
class TaskFailure:
    """A failed task, in the worker's words."""

    at: datetime
    worker: str
    message: str


class Failures:
    """The last few failures of each run."""

    def __init__(self) -> None:
        self._by_run: dict[str, tuple[TaskFailure, ...]] = {}
        self._complaints: dict[str, dict[str, set[str]]] = {}

    def of(self, run_id: str) -> tuple[TaskFailure, ...]:
        return self._by_run.get(run_id, ())

    def note(self, run_id: str, trouble: TaskFailure) -> None:
        self._by_run[run_id] = (*self.of(run_id), trouble)[-MOST_KEPT:]

    def complain(self, run_id: str, message: str, user: str) -> int:
        """Note a complaint about the run itself; return how many users have made the same one. Of
        very many different ones, the first are forgotten: who complains chooses the words."""
        complaints = self._complaints.setdefault(run_id, {})
        users = complaints.setdefault(message, set())
        if len(complaints) > MOST_COMPLAINTS:
            del complaints[next(iter(complaints))]
        users.add(user)
        return len(users)

    def clear(self, run_id: str) -> None:
        """Forget the failures of a run, after an accepted result."""
        self._by_run.pop(run_id, None)

    def forget(self, run_id: str) -> None:
        """Forget everything about a run that has ended."""
        self.clear(run_id)
        self._complaints.pop(run_id, None)


class LogBound:
    """Keeps workers from flooding the log of actions: lines beyond the limit are dropped and
    counted, and the user's next line states how many were."""

    def __init__(self) -> None:
        self._lines = HourlyCounts()
        self._left_out: dict[str, int] = {}

    def select_events(self, events: Iterable[Event]) -> tuple[Event, ...]:
        """Return the events that may be written."""
        return tuple(filter(None, map(self._is_kept, events)))

    def _is_kept(self, event: Event) -> Event | None:
        if not is_by_worker(event):
            return event
        if self._lines.add(event.actor, 1, event.at) > MOST_LINES:
            self._left_out[event.actor] = self._left_out.get(event.actor, 0) + 1
            return None
        left_out = self._left_out.pop(event.actor, 0)
        if not left_out:
            return event
        message = f"{event.message or ''} ({left_out} lines were left out)".strip()
        return replace(event, message=message)


# The last sign of life of each task, ordered by time.
#
# Part of the working set, with the same single writer. Ended tasks stay here until they would count
# as dead, so callers that get silent tasks must check which are still active.


class LastSeen:
    """The last sign of life of every active task."""

    def __init__(self) -> None:
        self._heard: OrderedDict[TaskKey, datetime] = OrderedDict()
        self._since: datetime | None = None

    def note(self, key: TaskKey, now: datetime) -> None:
        """Note a sign of life."""
        self._heard[key] = now
        self._heard.move_to_end(key)

    def excuse_silence(self, now: datetime) -> None:
        """Excuse all silence so far, because the server could not be reached until now."""
        self._since = now

    @property
    def excused_until(self) -> datetime | None:
        """When the server last became reachable again; None if it always was."""
        return self._since

    def get(self, key: TaskKey) -> datetime | None:
        return self._heard.get(key)

    def latest(self, most: int) -> tuple[tuple[TaskKey, datetime], ...]:
        """Up to `most` signs of life, latest first; of active tasks, and of some ended ones."""
        return tuple(islice(reversed(self._heard.items()), most))

    def has_silent(self, now: datetime, after: timedelta) -> bool:
        """Whether any task, active or ended, has been silent for longer than `after`."""
        if self._since and now - self._since <= after:
            return False
        return bool(self._heard) and now - next(iter(self._heard.values())) > after

    def pop_silent(self, now: datetime, after: timedelta) -> Iterator[TaskKey]:
        """Remove and yield the tasks that have been silent for longer than `after`, longest
        first."""
        while self.has_silent(now, after):
            yield self._heard.popitem(last=False)[0]


# The measured length of games, per run and class of machine.

MEMORY_GAMES = 400
"""The number of games over which the average is taken; older ones fade."""
TRUSTED_GAMES = 20
"""The number of measured games from which the average replaces the formula."""


@dataclass(frozen=True, slots=True)
class GamePace:
    """A running average of the wall-clock seconds of one game."""

    games: int = 0
    seconds: float = 0.0

    def after(self, games: int, seconds: float, slots: int) -> "GamePace":
        """Return the average after `games` more games ended within `seconds` on `slots` boards."""
        each = seconds * slots / games
        weight = min(self.games + games, MEMORY_GAMES)
        mean = self.seconds + (each - self.seconds) * min(1.0, games / weight)
        return GamePace(weight, mean)

    def game_seconds(self, guess: float) -> float:
        """Return the measured time, or `guess` while too few games were measured."""
        return self.seconds if self.games >= TRUSTED_GAMES and self.seconds > 0 else guess


UNMEASURED = GamePace()


class GamePaces:
    """The measured lengths of games by run and class of machine; part of the working set."""

    def __init__(self) -> None:
        self._by_run: dict[str, dict[str, GamePace]] = {}

    def of(self, run_id: str, machine: Machine) -> GamePace:
        return self._by_run.get(run_id, {}).get(machine.pace_class, UNMEASURED)

    def measure(
        self, run_id: str, machine: Machine, *, games: int, seconds: float, slots: int
    ) -> None:
        paces = self._by_run.setdefault(run_id, {})
        paces[machine.pace_class] = self.of(run_id, machine).after(games, seconds, slots)

    def forget(self, run_id: str) -> None:
        self._by_run.pop(run_id, None)


# Points of a run's charts.

GROWTH = 1.02
"""The growth of the number of games from one point to the next, so that a run has few points in
all."""


class ChartSampling:
    """Decides when a run gets another chart point: a few hundred over its whole life. It keeps the
    number of games at which the next point of each run is due."""

    def __init__(self) -> None:
        self._due: dict[str, float] = {}

    def start(self, run: Run) -> None:
        """Begin sampling a run; its points so far are in the database."""
        self._set_next(run)

    def take_due_points(
        self, run: Run, now: datetime, find_nps: Callable[[str], float]
    ) -> tuple[ChartPoint, ...]:
        """Return the chart point of a run if one is due: after enough games since the last one, or
        at the run's end. `find_nps` gives the last known speed of a run; 0 if unknown."""
        games = run.tally.results.games
        if games < self._due.get(run.id, 0) and not run.status.finished:
            return ()
        self._set_next(run)
        return (chart_point(run, now, find_nps(run.id)),)

    def _set_next(self, run: Run) -> None:
        if run.status.finished:
            self._due.pop(run.id, None)
        else:
            self._due[run.id] = run.tally.results.games * GROWTH + run.kind.step


def chart_point(run: Run, now: datetime, nps: float = 0.0) -> ChartPoint:
    """Return the chart point for a run's present results."""
    tally, results = run.tally, run.tally.results
    llr = run.kind.llr or 0.0
    return ChartPoint(
        run.id, now, results.games, results.pentanomial, llr, tally.cores, nps or None
    )


# Limits a run's charts to a few hundred evenly spaced points, however long it plays.
#
# The points of a run are a period of games apart; the period doubles as often as needed to have at
# most 256 of them. Within a period, the last point stays. Place and period follow from the number
# of games alone, so nothing has to survive a restart.

MOST_PLACES = 256
FIRST_PERIOD = 8


def chart_period(games: int) -> int:
    """Return the number of games between two points of a run that has played `games` games."""
    found = FIRST_PERIOD
    while games >= MOST_PLACES * found:
        found *= 2
    return found


def chart_place(sample: ChartPoint) -> int:
    """Return the place of a point in its chart; a later point with the same place replaces it."""
    return sample.games - sample.games % chart_period(sample.games)
