"""The steps between a cold process and a serving one: up in order, down in reverse.

    down --start--> climbing --all up--> up --stop_early--> up, jobs down --stop--> down
                       |
                       v  a step fails: those already up are stopped in reverse
                     down, and the failure is raised as a sentence

A step runs where it says: LOOP steps are awaited in the one task that owns the lifespan (an open
bridge must be closed by the task that opened it), THREAD steps run in a worker thread.
"""

import asyncio
import enum
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from rookery.boundary.domains import Declaration, Domain
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.errors import Complaint
from rookery.files.disk import Disk, Room
from rookery.logs import Log

T = TypeVar("T")
Act = Callable[[], object]


class StepFailed(Complaint):
    """A step of the start failed."""


class NotOpen(RuntimeError):
    """This is open only while its lifespan step is up:"""

    def __str__(self) -> str:
        return f"{self.__doc__} {' '.join(map(str, self.args))}"


class StepsOutOfOrder(ValueError):
    """Steps that stop before the drain must come after all others:"""


def nothing() -> None:
    """The start or stop of a step that has only the other."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `start` and `stop` are coroutine functions in LOOP, plain functions in THREAD."""

    name: str
    declaration: Declaration
    start: Act = nothing
    stop: Act = nothing
    seconds: float = 3.0  # how long the stop may take
    before_drain: bool = False  # jobs: stopped before accepted requests are waited for


class Opened(Generic[T]):
    """Something that exists only while its step is up."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._value: T | None = None

    def __call__(self) -> T:
        if self._value is None:
            raise NotOpen(self._name)
        return self._value

    @property
    def is_open(self) -> bool:
        return self._value is not None

    def put(self, value: T | None) -> None:
        self._value = value


def opening(
    place: Opened[T],
    name: str,
    why: str,
    make: Callable[[], AbstractAsyncContextManager[T]],
    *,
    seconds: float = 3.0,
    before_drain: bool = False,
) -> Step:
    """A LOOP step that enters an async context manager and puts what it gives into `place`."""
    stack = AsyncExitStack()

    async def start() -> None:
        place.put(await stack.enter_async_context(make()))

    async def stop() -> None:
        try:
            await stack.aclose()
        finally:
            place.put(None)

    declaration = Declaration(Domain.LOOP, why)
    return Step(name, declaration, start, stop, seconds=seconds, before_drain=before_drain)


class Stairs:
    """The steps of one process, and how far it has climbed."""

    def __init__(self, steps: tuple[Step, ...], threads: Threads, log: Log) -> None:
        _refuse_disorder(steps)
        self.steps = steps
        self.failures: list[str] = []
        self._threads = threads
        self._log = log
        self._up: list[Step] = []

    async def start(self) -> None:
        """All steps, or none."""
        for step in self.steps:
            try:
                await self._climb(step)
            except BaseException as error:
                await self.stop()
                raise _as_complaint(step, error) from error

    async def stop_early(self) -> None:
        """The jobs alone, so that nothing new begins while requests are waited for."""
        while self._up and self._up[-1].before_drain:
            await self._stop_last()

    async def stop(self) -> None:
        while self._up:
            await self._stop_last()

    async def _climb(self, step: Step) -> None:
        if _in_thread(step):
            await self._climb_in_thread(step)
        else:
            await _awaited(step.start)
            self._came_up(step)

    async def _climb_in_thread(self, step: Step) -> None:
        """What a thread has begun it ends, and is then stopped like the others."""
        running = asyncio.ensure_future(self._threads.io(step.start))
        given_up = False
        while not running.done():
            try:
                await asyncio.wait({running})
            except asyncio.CancelledError:
                given_up = True
        await running
        self._came_up(step)
        if given_up:
            raise asyncio.CancelledError

    def _came_up(self, step: Step) -> None:
        self._up.append(step)
        self._log.debug("step_up", step=step.name)

    async def _stop_last(self) -> None:
        step = self._up.pop()
        try:
            if _in_thread(step):
                await self._stop_thread(step)
            else:
                async with asyncio.timeout(step.seconds):
                    await _awaited(step.stop)
        except Exception as error:  # noqa: BLE001 - the other steps must be stopped all the same
            self._failed(step, error)
        else:
            self._log.debug("step_down", step=step.name)

    async def _stop_thread(self, step: Step) -> None:
        """A thread can't be cancelled: after its time it is left behind."""
        running = asyncio.ensure_future(self._threads.io(step.stop))
        done, _ = await asyncio.wait({running}, timeout=step.seconds)
        if not done:
            raise TimeoutError
        await running

    def _failed(self, step: Step, error: Exception) -> None:
        self.failures.append(step.name)
        self._log.error("step_stop_failed", step=step.name, error=repr(error), exc_info=error)


def _in_thread(step: Step) -> bool:
    return step.declaration.domain not in {Domain.LOOP, Domain.LOOP_CPU}


async def _awaited(act: Act) -> None:
    outcome = act()
    if outcome is not None:
        await cast("Awaitable[object]", outcome)


def _as_complaint(step: Step, error: BaseException) -> BaseException:
    if isinstance(error, Complaint) or not isinstance(error, Exception):
        return error
    return StepFailed(f"The start failed at {step.name}: {str(error) or type(error).__name__}.")


def _refuse_disorder(steps: tuple[Step, ...]) -> None:
    early = [step.before_drain for step in steps]
    if early != sorted(early):
        raise StepsOutOfOrder(", ".join(step.name for step in steps if step.before_drain))


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
    ) -> None:
        self._lifecycle = lifecycle
        self._database_answers = database_answers
        self._disk = disk
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
        """What is going to be a reason unless somebody does something."""
        return self._disk.trouble()

    async def _ask(self) -> str:
        await self._disk.look()
        if self._disk.room is Room.FULL:
            return self._disk.trouble()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                await self._database_answers()
        except TimeoutError:
            return "the database does not answer"
        except Exception as error:  # noqa: BLE001 - whatever it is, it means not ready
            return f"the database can't be used: {type(error).__name__}"
        return ""
