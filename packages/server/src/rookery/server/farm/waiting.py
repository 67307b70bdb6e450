"""Holds requests for a task open until there is something to play.

Theory of operation. A worker of ours that gets no task waits here instead of polling, so that a new
test starts at once. Waiting costs a coroutine and a place in the line, but no thread and no gate.
The index counts how often a run became open for machines. Twice a second one task compares this
count with the previous one, and only if it has grown walks down the line, longest wait first. It
wakes a machine only if there is a task for it, and pauses after every few, so that these take their
tasks before the next are looked at: a thousand machines do not come for one task. What becomes
available for one machine alone (a lifted block, a forgiven failure) is found when it asks again at
the end of its wait.
"""

import asyncio
from dataclasses import dataclass, field

from rookery.core.model.machine import Machine
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.rules.answers import Grant, NoTask, Refusal
from rookery.server.http.waiting import LONGEST_SECONDS

LOOK_SECONDS = 0.5
MOST_WAITING = 5000
AT_ONCE = 20
PAUSE_SECONDS = 0.02


@dataclass(slots=True, eq=False)
class _Place:
    """A machine's place in the line; it ends when there may be a task, or when the same machine
    asks again."""

    machine: Machine
    limit: int
    called: asyncio.Event = field(default_factory=asyncio.Event)
    replaced: bool = False


class WaitingLine:
    """The line of waiting machines of a process. Used only on the event loop."""

    def __init__(
        self, fleet: Fleet, *, most: int = MOST_WAITING, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._fleet = fleet
        self._most = most
        self._look_seconds = look_seconds
        self._line: dict[str, _Place] = {}
        self._looking = False
        self._seen: object = None

    def __len__(self) -> int:
        return len(self._line)

    async def task_for(
        self, machine: Machine, *, limit: int, seconds: float
    ) -> Grant | NoTask | Refusal:
        """Give a task as soon as there is one, or after `seconds` the answer that there is none;
        raise what a request for a task raises."""
        loop = asyncio.get_running_loop()
        until = loop.time() + min(seconds, LONGEST_SECONDS)
        while True:
            before = self._opened()
            answer = await self._fleet.request_task(machine, limit=limit)
            left = until - loop.time()
            if not isinstance(answer, NoTask) or left <= 0 or len(self._line) >= self._most:
                return answer
            # A run that opened while the answer was on its way may be for this machine.
            if before == self._opened() and not await self._called(machine, limit, left):
                return answer

    async def _called(self, machine: Machine, limit: int, seconds: float) -> bool:
        """Wait in the line; return whether there may be a task now."""
        place, name = _Place(machine, limit), machine.short_name
        if former := self._line.pop(name, None):
            former.replaced = True
            former.called.set()
        self._line[name] = place
        if not self._looking:
            self._looking, self._seen = True, self._opened()
            self._fleet.primary.spawn(self._look_out())
        try:
            async with asyncio.timeout(seconds):
                await place.called.wait()
        except TimeoutError:
            return False
        finally:
            if self._line.get(name) is place:
                del self._line[name]
        return not place.replaced

    async def _look_out(self) -> None:
        """Watch for opened runs as long as any machine waits."""
        try:
            while self._line:
                await asyncio.sleep(self._look_seconds)
                opened = self._opened()
                if opened != self._seen:
                    self._seen = opened
                    await self._call_up()
        finally:
            self._looking = False

    async def _call_up(self) -> None:
        names = list(self._line)
        for first in range(0, len(names), AT_ONCE):
            called = sum(self._call(name) for name in names[first : first + AT_ONCE])
            await asyncio.sleep(PAUSE_SECONDS if called else 0)

    def _call(self, name: str) -> bool:
        """Wake a machine if there is something for it, and return whether it did."""
        place = self._line.get(name)
        if place is None:
            return False
        term = self._fleet.primary.present_term()
        if term is None:
            # No longer primary: the machine asks again, and is answered by or sent to the new
            # primary.
            place.called.set()
            return True
        now = self._fleet.primary.clock.now()
        if term.scheduler.next_in_line(place.machine, now, limit=place.limit) is None:
            return False
        place.called.set()
        return True

    def _opened(self) -> object:
        """Return a value that changes whenever a run becomes open for machines or the working set
        is replaced."""
        term = self._fleet.primary.present_term()
        return None if term is None else (term, term.working.index.opened)
