"""The steps of starting a server, and the phases of its process: starting, ready, stopping.

Each step opens something, and the steps are undone in reverse order. LOOP steps are awaited in the
task that builds the site, since a bridge must be closed by the task that opened it. THREAD steps
run in a worker thread.

If a step fails, it raises a Complaint, and the steps already taken are undone.
"""

import asyncio
import enum
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.errors import Complaint
from rookery.server.boundary.domains import Domain
from rookery.server.caches import SharedWork
from rookery.server.db.connecting import explain_storage
from rookery.server.disk import Disk, DiskSpace
from rookery.server.logs import Log

T = TypeVar("T")


class StepFailed(Complaint):
    """A step of the start failed."""


@dataclass(frozen=True, slots=True)
class Step:
    """The declaration of one step."""

    name: str
    domain: Domain
    why: str
    stop_seconds: float = 3.0
    before_drain: bool = False
    """Whether the step is undone before accepted requests are drained, as it is for jobs."""


class StepRunner:
    """Takes steps in order for the length of the block, and undoes them in reverse at its end."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._open: list[tuple[Step, AbstractAsyncContextManager[Any]]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        while self._open:
            await self._stop_last()

    async def enter(self, step: Step, opening: AbstractAsyncContextManager[T]) -> T:
        """Open a part that stays open until the steps are undone."""
        opened = await self._take(step, opening.__aenter__())
        self._open.append((step, opening))
        return opened

    async def wait(self, step: Step, work: Awaitable[T]) -> T:
        """Await work that leaves nothing open."""
        return await self._take(step, work)

    async def run(self, step: Step, act: Callable[[], T]) -> T:
        """Run blocking work in a thread. It runs to its end even if the start is cancelled."""
        return await self._take(step, _finish(self._process.threads.io(act)))

    async def stop_jobs(self) -> None:
        """Undo the steps that must not begin anything new while requests are drained."""
        while self._open and self._open[-1][0].before_drain:
            await self._stop_last()

    async def _take(self, step: Step, work: Awaitable[T]) -> T:
        try:
            result = await work
        except Complaint:
            raise
        except Exception as error:
            if problem := explain_storage(error):
                raise problem from error
            text = str(error) or type(error).__name__
            raise StepFailed(f"The start failed at {step.name}: {text}.") from error
        self._process.log.debug("step_up", step=step.name)
        return result

    async def _stop_last(self) -> None:
        step, opened = self._open.pop()
        try:
            async with asyncio.timeout(step.stop_seconds):
                await opened.__aexit__(None, None, None)
        except Exception as error:
            self._process.failures.append(step.name)
            log = self._process.log
            log.error("step_stop_failed", step=step.name, error=repr(error), exc_info=error)
        else:
            self._process.log.debug("step_down", step=step.name)


async def _finish(work: Awaitable[T]) -> T:
    """Await the end of the work, and raise a cancellation only after it."""
    running = asyncio.ensure_future(work)
    cancelled = False
    while not running.done():
        try:
            await asyncio.wait({running})
        except asyncio.CancelledError:
            cancelled = True
    result = await running
    if cancelled:
        raise asyncio.CancelledError
    return result


# The phases of the serving process, as requests and probes see them.
#
#     STARTING --started--> READY --stop--> STOPPING
#         \------------------stop------------^
#
# Only the event loop changes the phase. STOPPING is the last one.


class Phase(enum.Enum):
    STARTING = "starting"
    READY = "ready"
    STOPPING = "stopping"


_MOVES = {
    (Phase.STARTING, Phase.READY),
    (Phase.STARTING, Phase.STOPPING),
    (Phase.READY, Phase.STOPPING),
}


class Lifecycle:
    """The phase of the process. A transition that the diagram does not have is ignored."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self.bound = ""
        """The address of the socket that will listen; empty until it is known."""

    @property
    def stopping(self) -> bool:
        return self.phase is Phase.STOPPING

    def started(self) -> None:
        self._move(Phase.READY)

    def stop(self) -> None:
        self._move(Phase.STOPPING)

    def _move(self, phase: Phase) -> None:
        if (self.phase, phase) in _MOVES:
            self.phase = phase


@dataclass(frozen=True, slots=True)
class Process:
    """What a serving process has from start to end."""

    threads: Threads
    clock: Clock
    log: Log
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    failures: list[str] = field(default_factory=list)
    """The parts that failed to stop, or ended for good while the server ran. They decide the exit
    code."""


# Whether this process can do its work at the moment, for load balancers.

ANSWER_SECONDS = 2.0
# The database is asked at most this often, however many probes arrive.
REMEMBERED_SECONDS = 0.5


class Readiness:
    """Ready means: started, not stopping, room on the disk, and a database that answers."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        database_answers: Callable[[], Awaitable[None]],
        disk: Disk,
        clock: Clock,
        describe_trouble: Callable[[], str] | None = None,
    ) -> None:
        self._lifecycle = lifecycle
        self._database_answers = database_answers
        self._disk = disk
        self._describe_trouble = describe_trouble or disk.describe_trouble
        self._clock = clock
        self._one_at_a_time = asyncio.Lock()
        self._asked = float("-inf")
        self._reason = ""
        self._asking: SharedWork[str, None] = SharedWork()

    async def reason_against(self) -> str:
        """Why the process is not ready, in words; empty if it is."""
        if self._lifecycle.phase is not Phase.READY:
            return f"the server is {self._lifecycle.phase.value}"
        async with self._one_at_a_time:
            if self._clock.seconds() - self._asked >= REMEMBERED_SECONDS:
                self._reason = await self._ask()
                self._asked = self._clock.seconds()
        return self._reason

    @property
    def warning(self) -> str:
        """A warning for the operator, although most requests are accepted."""
        return self._describe_trouble()

    async def _ask(self) -> str:
        await self._disk.measure()
        if self._disk.space is DiskSpace.FULL:
            return self._disk.describe_trouble()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._asking("", self._ask_database)
        except TimeoutError:
            return "the database does not answer"
        except Exception as error:  # noqa: BLE001 - whatever it is, it means not ready
            return f"the database can't be used: {type(error).__name__}"
        return ""

    async def _ask_database(self) -> None:
        """Goes on when nobody waits for it any more, and the next probe joins in: the driver takes
        ten seconds to cancel a question on a connection that hangs."""
        await self._database_answers()
