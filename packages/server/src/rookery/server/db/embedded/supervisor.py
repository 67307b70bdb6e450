"""The supervisor process: keeps one postgres running for its owner, and ends with its owner.

`server` starts it as `supervisor SOURCES BINARIES DATA OWNER`, with standard input as the owner's
pipe; it reports events as lines of JSON on standard output. It uses only the standard library and
one thread.
"""

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from rookery.server.db.embedded import cluster, folder, processes
from rookery.server.db.embedded import cluster as child
from rookery.server.db.embedded import folder as sockets
from rookery.server.db.embedded.folder import (
    NO_SPACE,
    START_FAILED,
    Layout,
    folder_problem,
)
from rookery.server.db.target import Problem

# Waits for the supervisor's events: its owner's pipe, a request to stop, a child's end.


class Stopped(Exception):
    """The owner asked the supervisor to stop, or is gone."""


class SupervisorEvents:
    """Waits for events without missing any. One object per process, used by one thread, with
    standard input as the pipe."""

    def __init__(self) -> None:
        self.asked = False  # by a line or SIGTERM
        self.gone = False  # end of file without a request: the owner was killed
        self._wake, writer = os.pipe()
        for descriptor in (0, self._wake, writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        # A handler instead of SIG_IGN, because PostgreSQL would inherit an ignored signal.
        for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _hear_only)
        signal.signal(signal.SIGTERM, self._on_terminate)
        self._poll = select.poll()
        self._poll.register(0, select.POLLIN)
        self._poll.register(self._wake, select.POLLIN)

    @property
    def stopping(self) -> bool:
        return self.asked or self.gone

    def pause(self, seconds: float) -> None:
        """Wait for an event, at most `seconds`; raise Stopped when it is time to stop."""
        self.listen(seconds)
        if self.stopping:
            raise Stopped

    def listen(self, seconds: float) -> None:
        for descriptor, _ in self._poll.poll(seconds * 1000):
            words = _read(descriptor)
            if descriptor == 0:
                self._on_words(words)

    def _on_words(self, words: bytes) -> None:
        self.asked = self.asked or b"stop" in words
        if not words:
            self.gone = not self.asked
            self._poll.unregister(0)

    def _on_terminate(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True


def _read(descriptor: int) -> bytes:
    """Read what is available; empty at the end of the file, or on an error such as a dead owner's
    reset."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""


def _hear_only(_number: int, _frame: FrameType | None) -> None:
    """Do nothing: the wake-up descriptor has received the signal."""


STATUS_LINE = 7  # its index in postmaster.pid


class Postmaster:
    """A postgres process from start to end, as its supervisor sees it."""

    def __init__(self, layout: Layout, binaries: Path) -> None:
        self._layout = layout
        self._log_start = cluster.end_of(layout.log)
        command = [str(binaries / "postgres"), "-D", str(layout.cluster)]
        # SIGQUIT makes PostgreSQL stop at once and without fail; the next start recovers.
        before_exec = processes.dying_with_parent(signal.SIGQUIT)
        self._process = cluster.start(command, layout.log, before_exec)
        self.pid = self._process.pid

    def ended(self) -> int | None:
        """Return the exit code, negative for a signal; None while it runs."""
        return self._process.poll()

    def is_ready(self) -> bool:
        try:
            text = (self._layout.cluster / "postmaster.pid").read_text(encoding="utf-8")
        except OSError:
            return False
        lines = text.splitlines()
        mine = len(lines) > STATUS_LINE and lines[0] == str(self.pid)
        return mine and lines[STATUS_LINE].strip() == "ready"

    def stop(self, listen: Callable[[float], None], *, patience: float) -> None:
        """Stop postgres: a fast shutdown with a checkpoint first, an immediate one if that takes
        too long, and SIGKILL as a last resort."""
        for number, seconds in (
            (signal.SIGINT, patience),
            (signal.SIGQUIT, 1.0),
            (signal.SIGKILL, 5.0),
        ):
            if self.ended() is None:
                self._process.send_signal(number)
                self._wait(listen, seconds)

    def last_words(self) -> str:
        return cluster.last_words(self._layout.log, self._log_start)

    def _wait(self, listen: Callable[[float], None], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while self.ended() is None and (left := deadline - time.monotonic()) > 0:
            listen(left)


LOCK_PATIENCE = 10.0
READY_LOOK = 0.02
FAILED_STARTS = 5
LONG_LIFE = 10.0
SHORTEST_DELAY = 0.1
LONGEST_DELAY = 5.0
ASKED_PATIENCE = 5.0
GONE_PATIENCE = 1.5  # a killed owner may be restarted at once


def say(event: str, **fields: object) -> None:
    """Report an event to the owner, who may be gone."""
    line = json.dumps({"event": event, **{k: str(v) for k, v in fields.items()}}) + "\n"
    try:
        os.write(1, line.encode())
    except OSError:
        return


def fail(problem: Problem) -> None:
    say("failed", kind=type(problem).__name__, problem=problem, **problem.fields)


class Supervisor:
    def __init__(
        self, layout: Layout, binaries: Path, owner: int, events: SupervisorEvents
    ) -> None:
        self._layout = layout
        self._binaries = binaries
        self._owner = owner
        self._events = events
        self._failures = 0
        self._was_ready = False

    def run(self) -> None:
        layout, pause = self._layout, self._events.pause
        folder.make_folder(layout.data)
        folder.hold(layout.data, layout.lock, self._owner, patience=LOCK_PATIENCE, pause=pause)
        layout.home.mkdir(mode=0o700, exist_ok=True)
        self._end_leftovers()
        socket = sockets.choose(layout)
        try:
            how = processes.settle(layout, (layout.home, socket), self._binaries)
            say("account", how=how)
            self._prepare(socket)
            self._keep(socket)
        finally:
            sockets.forget(layout, socket)

    def _prepare(self, socket: Path) -> None:
        if not cluster.check(self._layout):
            say("initialising", path=self._layout.cluster)
            log, pause = self._layout.log, self._events.pause
            cluster.make_cluster(
                self._layout, self._binaries, lambda line: child.run(line, log, pause)
            )
        cluster.configure(self._layout, socket)
        sockets.record(self._layout, socket)

    def _keep(self, socket: Path) -> None:
        while True:
            cluster.clear_stale(self._layout, socket)
            postmaster = Postmaster(self._layout, self._binaries)
            try:
                lived = self._accompany(postmaster, socket)
            finally:
                patience = ASKED_PATIENCE if self._events.asked else GONE_PATIENCE
                postmaster.stop(self._events.listen, patience=patience)
                self._end_leftovers(raising=False)
            say("down", code=postmaster.ended(), reason=postmaster.last_words())
            self._delay(postmaster, lived)

    def _accompany(self, postmaster: Postmaster, socket: Path) -> float:
        """Wait until postgres has ended; return for how long it was ready."""
        while not postmaster.is_ready():
            if postmaster.ended() is not None:
                self._failures += 1
                return 0.0
            self._events.pause(READY_LOOK)
        ready = time.monotonic()
        self._failures, self._was_ready = 0, True
        say("ready", socket=socket, postmaster=postmaster.pid)
        while postmaster.ended() is None:
            self._events.pause(60.0)
        return time.monotonic() - ready

    def _delay(self, postmaster: Postmaster, lived: float) -> None:
        """Wait before a restart, longer after each failure; raise a problem when postgres clearly
        does not start."""
        code, words = postmaster.ended(), postmaster.last_words()
        if not self._was_ready and code is not None and code >= 0:
            raise self._start_problem(words)
        if self._failures >= FAILED_STARTS:
            raise Problem(
                "PostgreSQL failed to start {count} times in a row and is not started again: "
                "{reason}. Its log is {log}.",
                count=FAILED_STARTS,
                reason=words,
                log=self._layout.log,
            )
        if lived < LONG_LIFE:
            self._events.pause(min(SHORTEST_DELAY * 2**self._failures, LONGEST_DELAY))

    def _start_problem(self, words: str) -> Problem:
        if "No space left" in words:
            return Problem(NO_SPACE, path=self._layout.cluster)
        return Problem(START_FAILED, reason=words, log=self._layout.log)

    def _end_leftovers(self, *, raising: bool = True) -> None:
        places = (self._layout.cluster, self._layout.unfinished)
        processes.end(places, self._events.pause if raising else self._events.listen)


def main() -> int:
    binaries, data, owner = sys.argv[1:4]
    layout = Layout(Path(data).absolute())
    try:
        Supervisor(layout, Path(binaries), int(owner), SupervisorEvents()).run()
    except Stopped:
        return 0
    except Problem as problem:
        fail(problem)
    except OSError as error:
        fail(folder_problem(error, Path(error.filename or data)))
    return 1
