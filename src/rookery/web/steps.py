"""The steps between a cold process and a serving one, and the life of the process around them.

Each step opens something and is taken back in reverse order. A step runs where it says: LOOP steps
are awaited in the one task that builds the site (an open bridge must be closed by the task that
opened it), THREAD steps run in a worker thread.

A step that fails raises a sentence, and those already taken are taken back.
"""

import asyncio
import enum
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

from rookery.boundary.domains import Domain
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.errors import Complaint
from rookery.files.disk import Disk, DiskSpace
from rookery.logs import Log

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
    """Whether it is stopped before accepted requests are waited for, as jobs are."""


class StepRunner:
    """Takes steps in order while the block lasts, and takes them back in reverse at its end."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._open: list[tuple[Step, AbstractAsyncContextManager[Any]]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        while self._open:
            await self._stop_last()

    async def enter(self, step: Step, opening: AbstractAsyncContextManager[T]) -> T:
        """Opens what stays open until the steps are taken back."""
        opened = await self._take(step, opening.__aenter__())
        self._open.append((step, opening))
        return opened

    async def wait(self, step: Step, work: Awaitable[T]) -> T:
        """Waits for what leaves nothing open."""
        return await self._take(step, work)

    async def run(self, step: Step, act: Callable[[], T]) -> T:
        """The same for what blocks: in a thread, which ends what it has begun even where the start
        is given up."""
        return await self._take(step, _finish(self._process.threads.io(act)))

    async def stop_jobs(self) -> None:
        """Takes back what must not begin anything new while requests are waited for."""
        while self._open and self._open[-1][0].before_drain:
            await self._stop_last()

    async def _take(self, step: Step, work: Awaitable[T]) -> T:
        try:
            result = await work
        except Complaint:
            raise
        except Exception as error:
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
    """Waits to the end of it, and only then gives a cancellation on."""
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


# The life of the serving process, as requests and probes see it.
#
#     STARTING --started--> READY --stop--> STOPPING
#         \------------------stop------------^
#
# One writer, the event loop; STOPPING is the end.


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
    """Which phase it is; a move that the diagram does not have is ignored."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self.bound = ""
        """The address of the socket that will listen, once it is known."""

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
    """What a serving process has from its first moment to its last."""

    threads: Threads
    clock: Clock
    log: Log
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    failures: list[str] = field(default_factory=list)
    """What failed to stop, or ended for good while the server ran: the exit code tells of it."""


# Whether this process can do its work right now, asked by load balancers.

ANSWER_SECONDS = 2.0
# The database is asked at most this often, however many probes there are.
REMEMBERED_SECONDS = 0.5


class Readiness:
    """Ready means: started, not stopping, room on the disk, and the database answers."""

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

    async def reason_against(self) -> str:
        """Why not, in words; empty when ready."""
        if self._lifecycle.phase is not Phase.READY:
            return f"the server is {self._lifecycle.phase.value}"
        async with self._one_at_a_time:
            if self._clock.seconds() - self._asked >= REMEMBERED_SECONDS:
                self._reason = await self._ask()
                self._asked = self._clock.seconds()
        return self._reason

    @property
    def warning(self) -> str:
        """What somebody has to do something about, though most requests are welcome."""
        return self._describe_trouble()

    async def _ask(self) -> str:
        await self._disk.measure()
        if self._disk.space is DiskSpace.FULL:
            return self._disk.describe_trouble()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._database_answers()
        except TimeoutError:
            return "the database does not answer"
        except Exception as error:  # noqa: BLE001 - whatever it is, it means not ready
            return f"the database can't be used: {type(error).__name__}"
        return ""
