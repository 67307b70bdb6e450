"""Detection mode: finds what blocks the loop while tests run, or in `serve` when asked to.

It makes three checks, because each of them misses something:

* blocking calls (files, sockets, locks, sleep) are found by blockbuster, which is a test
  dependency and imported only here; we add the calls that it does not know;
* a single callback that takes more thread CPU time than `cpu_seconds` is found by timing every
  callback of the loop (templates, compression, any computing). Time stolen by other processes
  and garbage collections do not count;
* a second event loop, started in a pool's thread while another loop runs, is refused: it is how
  connections of one loop end up on another.

Every violation is reported, and the first and the last kind also raise where they happen. Timing
callbacks needs asyncio's own loop; uvloop's callbacks cannot be timed, so detection mode runs
on asyncio.
"""

import asyncio
import gc
import importlib
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import resources
from time import thread_time
from typing import Any

from rookery.core.boundary.errors import BoundaryError

# The list of what may block on the loop under detection: one file, a reason for every line.


class BadAllowance(BoundaryError):
    """A line of the allow-list is not `call | file | function | reason`:"""


@dataclass(frozen=True, slots=True)
class Allowance:
    """An exception: the call may block while this function of this file is on the stack."""

    call: str
    file: str
    function: str
    reason: str


def parse(text: str) -> tuple[Allowance, ...]:
    """Return the allowances of a list; comments and empty lines do not count."""
    lines = (line.strip() for line in text.splitlines())
    return tuple(_allowance(line) for line in lines if line and not line.startswith("#"))


def shipped() -> tuple[Allowance, ...]:
    """Return the allow-list that comes with the package."""
    return parse(
        resources.files("rookery.server.boundary").joinpath("allowed.txt").read_text("utf-8")
    )


def allows(allowances: Iterable[Allowance], call: str, file: str, function: str) -> bool:
    """Whether this function of this file may make the call on the loop."""
    return any(
        call == one.call and function == one.function and file.endswith(one.file)
        for one in allowances
    )


def _allowance(line: str) -> Allowance:
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != 4 or not all(columns):
        raise BadAllowance(line)
    return Allowance(*columns)


__all__ = ["Detection", "SecondLoop", "Violation", "install"]

# Calls that block or compute long and that blockbuster does not know; those of packages that
# are not installed are left out.
_MORE_BLOCKING_CALLS = (
    "os.fsync",
    "socket.getaddrinfo",
    "socket.gethostbyname",
    "argon2.PasswordHasher.hash",
    "argon2.PasswordHasher.verify",
)

# The functions at the bottom of a pool thread's stack: the executors' and anyio's.
_POOL_THREADS = frozenset({"_worker", "WorkerThread.run"})


class SecondLoop(BoundaryError):
    """An event loop was started in a pool's thread while another one runs; use the bridge."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Something blocked the loop: `kind` is blocking call, long callback or second loop."""

    kind: str
    what: str
    seconds: float
    stack: str


Report = Callable[[Violation], None]


class Detection:
    """The installed checks; `uninstall` removes them."""

    def __init__(self, undo: ExitStack) -> None:
        self._undo = undo

    def uninstall(self) -> None:
        self._undo.close()


def install(
    report: Report,
    *,
    cpu_seconds: float = 0.02,
    allowances: Iterable[Allowance] | None = None,
) -> Detection:
    """Install all checks for the whole process."""
    allowed = tuple(shipped() if allowances is None else allowances)
    with ExitStack() as undo:
        _find_blocking_calls(report, allowed, undo)
        _find_long_callbacks(report, cpu_seconds, allowed, undo)
        _find_second_loops(report, undo)
        return Detection(undo.pop_all())


def _find_blocking_calls(report: Report, allowed: tuple[Allowance, ...], undo: ExitStack) -> None:
    # As a module object: blockbuster is absent from every ordinary installation.
    inner = importlib.import_module("blockbuster.blockbuster")
    net = inner.BlockBuster()
    for name in filter(_is_there, _MORE_BLOCKING_CALLS):
        net.functions[name] = inner.BlockBusterFunction(None, name)
    for one in allowed:
        if one.call in net.functions:
            net.functions[one.call].can_block_in(one.file, one.function)

    class NotedBlockingError(inner.BlockingError):  # type: ignore[misc,name-defined]  # untyped base
        """A blocking call. It is reported when raised, even if some code swallows the exception."""

        def __init__(self, call: str) -> None:
            super().__init__(call)
            report(Violation("blocking call", call, 0.0, _stack()))

    _replace(inner, "BlockingError", NotedBlockingError, undo)
    undo.callback(net.deactivate)
    net.activate()


def _is_there(dotted: str) -> bool:
    try:
        importlib.import_module(dotted.partition(".")[0])
    except ImportError:
        return False
    return True


def _find_long_callbacks(
    report: Report, limit: float, allowed: tuple[Allowance, ...], undo: ExitStack
) -> None:
    collecting = _CollectorClock()
    gc.callbacks.append(collecting)
    undo.callback(gc.callbacks.remove, collecting)
    run = asyncio.Handle._run  # noqa: SLF001 - there is no public hook

    def timed(handle: asyncio.Handle) -> None:
        began, collected = thread_time(), collecting.seconds
        run(handle)
        spent = thread_time() - began - (collecting.seconds - collected)
        if spent > limit:
            name, file, function = _describe(handle)
            if not allows(allowed, "cpu", file, function):
                report(Violation("long callback", name, spent, ""))

    _replace(asyncio.Handle, "_run", timed, undo)


def _find_second_loops(report: Report, undo: ExitStack) -> None:
    run_forever = asyncio.BaseEventLoop.run_forever
    new_event_loop = asyncio.new_event_loop
    running: set[asyncio.BaseEventLoop] = set()

    def counted(loop: asyncio.BaseEventLoop) -> None:
        running.add(loop)
        try:
            run_forever(loop)
        finally:
            running.discard(loop)

    def checked() -> asyncio.AbstractEventLoop:
        if running and _in_a_pool():
            report(Violation("second loop", threading.current_thread().name, 0.0, _stack()))
            raise SecondLoop
        return new_event_loop()

    _replace(asyncio.BaseEventLoop, "run_forever", counted, undo)
    for place in (asyncio, asyncio.events):
        _replace(place, "new_event_loop", checked, undo)


class _CollectorClock(threading.local):
    """The CPU time that this thread has spent collecting garbage."""

    began = 0.0
    seconds = 0.0

    def __call__(self, phase: str, info: object) -> None:
        if phase == "start":
            self.began = thread_time()
        else:
            self.seconds += thread_time() - self.began


def _describe(handle: asyncio.Handle) -> tuple[str, str, str]:
    """Return what a callback is, and the file and function that defined it."""
    callback: Any = handle._callback  # type: ignore[attr-defined]  # noqa: SLF001 - as above
    owner = getattr(callback, "__self__", callback)
    work = owner.get_coro() if isinstance(owner, asyncio.Task) else callback
    code = getattr(work, "cr_code", None) or getattr(work, "__code__", None)
    name = getattr(work, "__qualname__", repr(work))
    if code is None:
        return name, "", ""
    return f"{name} ({code.co_filename}:{code.co_firstlineno})", code.co_filename, code.co_name


def _in_a_pool() -> bool:
    """Whether this thread belongs to an executor or to anyio's worker threads."""
    return any(
        frame.f_code.co_qualname in _POOL_THREADS
        for frame, _ in traceback.walk_stack(sys._getframe())  # noqa: SLF001 - there is no other
    )


def _stack() -> str:
    return "".join(traceback.format_stack()[:-2])


def _replace(holder: object, name: str, value: object, undo: ExitStack) -> None:
    undo.callback(setattr, holder, name, getattr(holder, name))
    setattr(holder, name, value)
