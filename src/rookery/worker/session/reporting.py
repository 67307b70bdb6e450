"""Sends reports in their order, each until the server has heard it; games go on meanwhile."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from rookery.boundary.offload import Threads
from rookery.worker.session.conversation import Progress
from rookery.worker.session.faults import Refused, TaskFailed, Unreachable
from rookery.worker.session.watching import Watcher

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried, and the seconds between. Five times is the protocol's; a server
    of ours remembers a silent task for six minutes, and so long it is worth trying."""

    attempts: int = 5
    seconds: float = 15.0


HOUSE = Patience(attempts=25)
ONCE = Patience(attempts=1)


async def insist(call: Callable[[], T], patience: Patience, threads: Threads, watch: Watcher) -> T:
    """The answer to a call that may be made more than once; raises Refused or Unreachable."""
    for attempt in range(1, patience.attempts):
        try:
            return await threads.io(call)
        except Unreachable as error:
            watch.say(f"{error}; attempt {attempt} of {patience.attempts}")
            await asyncio.sleep(patience.seconds)
    return await threads.io(call)


class Courier:
    """Carries updates to the server. Ends when the server wants no more, or nothing more comes."""

    def __init__(
        self,
        send: Callable[[Progress], bool],
        patience: Patience,
        threads: Threads,
        watch: Watcher,
    ) -> None:
        self._send = send
        self._patience = patience
        self._threads = threads
        self._watch = watch
        self._waiting: asyncio.Queue[Progress | None] = asyncio.Queue()

    def put(self, told: Progress) -> None:
        self._waiting.put_nowait(told)

    async def idle(self) -> None:
        """Wait until the server has heard of everything."""
        await self._waiting.join()

    def close(self) -> None:
        """Nothing more will come."""
        self._waiting.put_nowait(None)

    async def run(self) -> bool:
        """Whether the task is still alive at the end; raises TaskFailed."""
        while (told := await self._waiting.get()) is not None:
            if not await self._carry(told):
                return False
            self._waiting.task_done()
        return True

    async def send_last(self) -> None:
        """The task is over for the server; what waited is told once more, for the credit of whoever
        played it. Totals are absolute, so that the last one says it all."""
        latest = None
        while not self._waiting.empty():
            latest = self._waiting.get_nowait() or latest
        if latest is not None:
            with contextlib.suppress(TaskFailed):
                await self._carry(latest, ONCE)

    async def _carry(self, told: Progress, patience: Patience | None = None) -> bool:
        def send() -> bool:
            return self._send(told)

        try:
            return await insist(send, patience or self._patience, self._threads, self._watch)
        except Refused as refused:
            raise TaskFailed(f"The server refused a result: {refused}") from None
        except Unreachable as error:
            raise TaskFailed(f"Too many failed updates: {error}") from None
