"""An engine as a process: in its own process group, with pipes that are read where time is
measured, and ended reliably.

The loop's own subprocess transport parses and copies more than timing allows. So plain callbacks
read the pipes: read, take the time, split, and wake the task that waits for a line.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import CLOCK_REALTIME, clock_gettime, perf_counter

from rookery.core.boundary.offload import Threads
from rookery.match.engine_output import LastScore, LineSplitter
from rookery.match.job import EngineFault, EngineFloods, EngineGone, EngineSilent

CHUNK_BYTES = 65_536
"""How much is read at once. A flooding engine gets no more of the loop before others have a
turn."""
MOST_ANSWER_BYTES = 32 * 2**20
LAST_CHUNKS = 4
"""How many chunks may still be in the pipe of an engine that has ended."""
KEPT_LINES = 30
KEPT_LINE_BYTES = 2_000
KEPT_ERROR_BYTES = 4_000
KILL_SECONDS = 10.0

# Linux no longer records writes to ordinary pipes, but does for named ones. If no named one can be
# made, the output is an ordinary pipe, and the times of writes are unknown.

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
"""A folder in memory, where making a name needs no disk."""
OUTPUT = "output"


def launch_engine(
    command: tuple[str, ...], folder: str | Path | None, environment: Mapping[str, str] | None
) -> "subprocess.Popen[bytes]":
    """Start a program in a session of its own with three pipes that never block. Raises OSError."""
    ends = stamped_pipe()
    try:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=None if environment is None else dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if ends is None else ends[1],
            stderr=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
    except OSError:
        if ends is not None:
            os.close(ends[0])
        raise
    finally:
        if ends is not None:
            os.close(ends[1])
    if ends is not None:
        process.stdout = os.fdopen(ends[0], "rb", buffering=0)
    for pipe in (process.stdin, process.stdout, process.stderr):
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
    return process


def stamped_pipe() -> tuple[int, int] | None:
    """Return the reading and the writing end of a named pipe whose name is already removed; None if
    none can be made."""
    try:
        with tempfile.TemporaryDirectory(dir=_place()) as folder:
            name = Path(folder, OUTPUT)
            os.mkfifo(name, 0o600)
            return _opened(name)
    except (OSError, AttributeError):
        return None


def _opened(name: Path) -> tuple[int, int]:
    # In this order neither end blocks.
    reading = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return reading, os.open(name, os.O_WRONLY)
    except OSError:
        os.close(reading)
        raise


def _place() -> Path | None:
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None


class SentLine(bytes):
    """A line sent to the engine, in a list with lines from it."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TimedLine:
    """An answer, when its bytes were read, and when they were written according to the pipe."""

    text: bytes
    read_at: float
    written_at: float


def wall_offset() -> float:
    """Return the offset from the clock that moves are timed with to that of file timestamps, which
    people may set."""
    return clock_gettime(CLOCK_REALTIME) - perf_counter()


class EngineProcess:
    """A running engine. One task at a time may ask it something."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._loop = asyncio.get_running_loop()
        self._lines = LineSplitter()
        self._tail: deque[bytes] = deque(maxlen=KEPT_LINES)
        self._errors = b""
        self._wanted = b""
        self._listening: Callable[[bytes], None] | None = None
        self._answer: asyncio.Future[TimedLine] | None = None
        self._unanswered_bytes = 0
        self._fault: EngineFault | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self.score = LastScore()
        # The end of its output does not show that it has ended, if a child of it holds the pipe.
        self._exit_descriptor = os.pidfd_open(process.pid) if hasattr(os, "pidfd_open") else None
        if self._exit_descriptor is not None:
            self._loop.add_reader(self._exit_descriptor, self._on_exit)
        self._loop.add_reader(process.stdout.fileno(), self._read_output)
        self._loop.add_reader(process.stderr.fileno(), self._read_errors)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_sound(self) -> bool:
        return self._fault is None

    @property
    def tail(self) -> tuple[str, ...]:
        """The last lines exchanged (`>` to the engine, `<` from it), then its last lines on
        standard error."""
        said = [
            ("> " if isinstance(line, SentLine) else "< ")
            + line[:KEPT_LINE_BYTES].decode("utf-8", "replace")
            for line in self._tail
        ]
        return (
            *said,
            *(f"! {text}" for text in self._errors.decode("utf-8", "replace").split("\n") if text),
        )

    def write(self, *lines: bytes) -> None:
        """Send all lines in one write, since the engine would be woken for each of several.

        If the pipe is full, the engine does not read.
        """
        assert self._process.stdin is not None
        self._tail.extend(map(SentLine, lines))
        text = b"\n".join((*lines, b""))
        try:
            sent = os.write(self._process.stdin.fileno(), text)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._fail(EngineGone())
            raise EngineGone from None
        if sent < len(text):
            self._fail(EngineSilent())
            raise EngineSilent

    async def expect(
        self, wanted: bytes, seconds: float, listening: Callable[[bytes], None] | None = None
    ) -> TimedLine:
        """Return the next line that begins with the wanted word. Raise an EngineFault if there is
        none."""
        if self._fault:
            raise type(self._fault)
        answer: asyncio.Future[TimedLine] = self._loop.create_future()
        self._answer = answer
        self._wanted, self._listening, self._unanswered_bytes = wanted, listening, 0
        self._wait_until(self._loop.time() + seconds)
        try:
            return await answer
        finally:
            self._answer = None

    def _wait_until(self, deadline: float) -> None:
        """Make the wait time out at the deadline. One timer, set again, serves many answers."""
        self._deadline = deadline
        if self._alarm is not None and self._alarm.when() > deadline:
            self._alarm.cancel()
            self._alarm = None
        if self._alarm is None:
            self._alarm = self._loop.call_at(deadline, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm = None
        if self._answer is None:
            return
        if self._loop.time() < self._deadline:
            self._wait_until(self._deadline)
        else:
            self._time_out()

    async def kill(self) -> None:
        """Kill the process and everything it started, and wait until nothing is left."""
        self._fail(EngineGone())
        self._release()
        # Kill the group before waiting: once reaped, its number could belong to another process.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await finish_despite_cancellation(self._reap(KILL_SECONDS))

    async def quit(self, seconds: float) -> None:
        """Ask the engine to end, then make sure of it, even if the caller is cancelled."""
        try:
            with contextlib.suppress(EngineFault):
                self.write(b"quit")
                await self.expect(b"\x00never said", seconds)
        finally:
            await self.kill()

    async def _reap(self, seconds: float) -> None:
        pause, deadline = 0.0005, perf_counter() + seconds
        while self._process.poll() is None and perf_counter() < deadline:
            await asyncio.sleep(pause)
            pause = min(2 * pause, 0.05)

    def _release(self) -> None:
        self._stop_watching_exit()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            if not pipe.closed:
                self._loop.remove_reader(pipe.fileno())
                pipe.close()

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        if self._fault:
            return
        try:
            data = os.read(self._process.stdout.fileno(), CHUNK_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        now = perf_counter()
        if not data:
            self._stop_reading()
            self._fail(EngineGone())
            return
        self._unanswered_bytes += len(data)
        self._take_lines(self._lines.feed(data), now)
        if self._unanswered_bytes > MOST_ANSWER_BYTES:
            self._fail(EngineFloods())

    def _take_lines(self, lines: list[bytes], now: float) -> None:
        """Keep the last score. Only lines that are not search information are examined further."""
        self._tail.extend(lines)
        self.score.feed(lines)
        for line in lines:
            if not line.startswith(b"info "):
                self._take(line, now)

    def _take(self, line: bytes, now: float) -> None:
        if self._answer and line.startswith(self._wanted):
            if not self._answer.done():
                self._answer.set_result(TimedLine(line.rstrip(), now, self._written_at()))
        elif self._listening:
            self._listening(line)

    def _written_at(self) -> float:
        """When the pipe was last written to. A later write makes the runner's delay look
        smaller."""
        assert self._process.stdout is not None
        stamp = os.fstat(self._process.stdout.fileno()).st_mtime_ns
        return stamp / 1e9 - wall_offset()

    def _read_errors(self) -> bool:
        """Read what is there of standard error. Returns whether there may be more."""
        assert self._process.stderr is not None
        try:
            data = os.read(self._process.stderr.fileno(), CHUNK_BYTES)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        self._errors = (self._errors + data)[-KEPT_ERROR_BYTES:]
        if not data:
            self._loop.remove_reader(self._process.stderr.fileno())
        return bool(data)

    def _read_last_words(self) -> None:
        """Read standard error to its end, because the fault is told at once, and what the engine
        said about it may still be in the pipe."""
        assert self._process.stderr is not None
        left = 0 if self._process.stderr.closed else LAST_CHUNKS
        while left and self._read_errors():
            left -= 1

    def _stop_reading(self) -> None:
        assert self._process.stdout is not None
        if not self._process.stdout.closed:
            self._loop.remove_reader(self._process.stdout.fileno())

    def _on_exit(self) -> None:
        self._stop_watching_exit()
        for _ in range(LAST_CHUNKS):
            self._read_output()
        self._fail(EngineGone())

    def _stop_watching_exit(self) -> None:
        if self._exit_descriptor is not None:
            self._loop.remove_reader(self._exit_descriptor)
            os.close(self._exit_descriptor)
            self._exit_descriptor = None

    def _time_out(self) -> None:
        # The answer may be in the pipe because this process was late, not the engine.
        self._read_output()
        self._fail(EngineSilent())

    def _fail(self, fault: EngineFault) -> None:
        answered = self._answer is not None and self._answer.done()
        if not answered:
            self._stop_reading()
            self._read_last_words()
            self._fault = self._fault or fault
            if self._answer is not None:
                self._answer.set_exception(self._fault)


async def start_process(
    command: Sequence[str],
    threads: Threads,
    *,
    folder: str | Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> EngineProcess:
    """Start an engine in a session of its own. Raises OSError if it can't be started.

    Starting waits for the program to load, so it happens in a thread.
    """
    starting = asyncio.ensure_future(threads.io(launch_engine, tuple(command), folder, environment))
    try:
        return EngineProcess(await asyncio.shield(starting))
    except asyncio.CancelledError:
        # The thread can't be stopped, but what it starts must not outlive the request.
        await finish_despite_cancellation(_kill_once_started(starting))
        raise


async def _kill_once_started(starting: "asyncio.Future[subprocess.Popen[bytes]]") -> None:
    with contextlib.suppress(OSError):
        await EngineProcess(await starting).kill()


async def finish_despite_cancellation(cleaning: Coroutine[None, None, None]) -> None:
    """Wait for a clean-up to end even if the caller is cancelled, possibly more than once, as the
    slots at the end of a match are. The cancellation takes effect afterwards; otherwise engines
    would remain."""
    running, cancelled = asyncio.ensure_future(cleaning), False
    while not running.done():
        try:
            await asyncio.wait((running,))
        except asyncio.CancelledError:
            cancelled = True
    running.result()
    if cancelled:
        raise asyncio.CancelledError
