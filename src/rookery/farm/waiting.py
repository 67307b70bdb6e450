"""Requests for a task that are held open until there is something to play.

Theory of operation. A machine of ours that gets nothing waits here instead of asking again and
again, so that a new test begins at once. It holds a coroutine and a place in the line, no thread
and no gate. The index counts how often a run became open for machines; twice a second one task
compares that count with the one it saw last, and only when it has grown goes down the line, the
longest wait first. It wakes a machine only when there is something for it, a few at a time, and
those take their tasks before it looks at the next: a thousand machines do not come for one task.
What opens for one machine alone (a block that is lifted, a failure that is forgiven) is found when
it asks again, at the end of its wait.
"""

import asyncio
from dataclasses import dataclass, field

from rookery.farm.fleet import Fleet
from rookery.model.machine import Machine
from rookery.rules.answers import Grant, NoTask, Refusal

LOOK_SECONDS = 0.5
LONGEST_SECONDS = 50.0
"""Proxies give an answer a minute by default."""
MOST_WAITING = 5000
AT_ONCE = 20
PAUSE_SECONDS = 0.02


def left_to_wait(wished: float, waited: float) -> float:
    """The seconds for which a machine may still be kept waiting, of those that it wished for."""
    return max(0.0, min(wished, LONGEST_SECONDS) - waited)


@dataclass(slots=True, eq=False)
class _Place:
    """One machine in the line; over where another request of it came, or there is work."""

    machine: Machine
    limit: int
    called: asyncio.Event = field(default_factory=asyncio.Event)
    replaced: bool = False


class WaitingLine:
    """One per process; the event loop alone uses it."""

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
        """A task as soon as there is one, or within so many seconds the answer that there is none;
        raises what a request for a task raises."""
        loop = asyncio.get_running_loop()
        until = loop.time() + min(seconds, LONGEST_SECONDS)
        while True:
            before = self._opened()
            answer = await self._fleet.request_task(machine, limit=limit)
            left = until - loop.time()
            if not isinstance(answer, NoTask) or left <= 0 or len(self._line) >= self._most:
                return answer
            # Something opened while the answer was on its way: it may be for this machine.
            if before == self._opened() and not await self._called(machine, limit, left):
                return answer

    async def _called(self, machine: Machine, limit: int, seconds: float) -> bool:
        """Wait in the line; whether there may be a task now."""
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
        """Look for runs to play, for as long as any machine waits."""
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
        """Whether there is something for this machine, which is told so."""
        place = self._line.get(name)
        if place is None:
            return False
        term = self._fleet.primary.present_term()
        if term is None:
            # It asks again, and is told or sent to whoever is primary now.
            place.called.set()
            return True
        now = self._fleet.primary.clock.now()
        if term.scheduler.next_in_line(place.machine, now, limit=place.limit) is None:
            return False
        place.called.set()
        return True

    def _opened(self) -> object:
        """Changes whenever some run becomes open for machines, or the working set is a new one."""
        term = self._fleet.primary.present_term()
        return None if term is None else (term, term.working.index.opened)
