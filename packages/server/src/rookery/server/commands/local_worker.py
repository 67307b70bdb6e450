"""The worker that `rookery up` starts beside its server, and the process that keeps it running.

That process, the keeper, is started as a program: `python -m` this module, LOG, COMMAND... Its
standard input is a pipe from its owner, the process of `rookery up`. A byte on it asks for an
orderly end; end of file means that the owner has ended, and the command must not outlive it. A
command that ends by itself is started again after a growing delay, and the keeper reports this on
standard output. The keeper uses only the standard library and a single thread, because the kernel
ties the death signal of a child to the thread that forked it.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from rookery.server.db.embedded.processes import dying_with_parent

FOLDER = "worker"
LOG = "worker.log"
GRACE_SECONDS = 1
LEAVE_SECONDS = 6.0
LOOK_SECONDS = 0.2
ORDERLY_SECONDS = 4.0
HASTY_SECONDS = 1.0
FIRST_DELAY = 1.0
LONGEST_DELAY = 60.0
LONG_LIFE = 60.0
MOST_LOG_BYTES = 5_000_000


@dataclass(slots=True)
class LocalWorker:
    """A worker with a keeper. It never outlives this process, and is started again when it or the
    keeper dies; `tell` gets a sentence about that. The methods block."""

    data: Path
    concurrency: str
    tell: Callable[[str], object] = print
    without_sandbox: bool = False
    _keeper: "subprocess.Popen[bytes] | None" = field(default=None, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False)
    _leaving: threading.Event = field(default_factory=threading.Event, init=False)

    @property
    def log(self) -> Path:
        return self.data / FOLDER / LOG

    def start(self, address: str, token: Path) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        keeper = (sys.executable, "-m", "rookery.server.commands.local_worker", str(self.log))
        line = (*keeper, *self._line(address, token))
        threading.Thread(target=self._keep, args=(line,), name="local worker", daemon=True).start()

    def stop(self) -> None:
        """Let the worker give its task back and end, while the server still answers."""
        self._leaving.set()
        with self._lock:
            keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        with contextlib.suppress(BrokenPipeError):
            keeper.stdin.write(b".")
            keeper.stdin.flush()
        try:
            keeper.wait(LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait()
        with contextlib.suppress(BrokenPipeError):
            keeper.stdin.close()

    def _keep(self, line: Sequence[str]) -> None:
        """In a thread, until the end: relay the keeper's output, and start it again when it
        ends."""
        delay = FIRST_DELAY
        while (keeper := self._launched(line)) is not None:
            began = time.monotonic()
            assert keeper.stdout is not None
            with keeper.stdout as said:
                for sentence in said:
                    self.tell(sentence.decode(errors="replace").strip())
            code = keeper.wait()
            delay = FIRST_DELAY if time.monotonic() - began > LONG_LIFE else 2 * delay
            delay = min(delay, LONGEST_DELAY)
            if self._leaving.is_set():
                return
            again = f"it is started again in {delay:.0f} s"
            self.tell(f"The worker's keeper ended {how(code)}; {again}.")
            self._leaving.wait(delay)

    def _launched(self, line: Sequence[str]) -> "subprocess.Popen[bytes] | None":
        """Start a keeper. None once the worker is to stop."""
        with self._lock:
            if self._leaving.is_set():
                return None
            self._keeper = subprocess.Popen(
                line,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # Ctrl-C in the terminal stops the server, which then stops the worker.
                start_new_session=True,
            )
            return self._keeper

    def _line(self, address: str, token: Path) -> tuple[str, ...]:
        return (
            sys.executable,
            "-m",
            "rookery.cli.main",
            "worker",
            f"--server={address}",
            f"--token-file={token}",
            # Its owner sits before it and wants to see a result.
            "--not-noisy",
            f"--concurrency={self.concurrency}",
            f"--cache={self.data / FOLDER}",
            f"--grace={GRACE_SECONDS}",
            "--no-update",
            # The operator of this server may have sources on this machine.
            "--allow-private-sources",
            *(("--without-sandbox",) if self.without_sandbox else ()),
        )


class Released(Exception):
    """The owner wants the command to end. `seconds` is how long that may take."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


def main() -> int:
    """Run the keeper."""
    log, *command = sys.argv[1:]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    delay = FIRST_DELAY
    try:
        while True:
            began = time.monotonic()
            with opened(Path(log)) as out:
                code = _accompany(command, out)
            delay = FIRST_DELAY if time.monotonic() - began > LONG_LIFE else delay * 2
            delay = min(delay, LONGEST_DELAY)
            _tell(f"The worker ended {how(code)}; it is started again in {delay:.0f} s.")
            _listen(delay)
    except Released:
        return 0


def how(code: int) -> str:
    """Return the end of a process in words, by its exit code."""
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _tell(sentence: str) -> None:
    """Print a sentence for the owner, who may have ended."""
    with contextlib.suppress(OSError, ValueError):
        print(sentence, flush=True)


def opened(log: Path) -> BinaryIO:
    """Open a log for appending. One that has become too long is emptied."""
    long = log.exists() and log.stat().st_size > MOST_LOG_BYTES
    return log.open("wb" if long else "ab")


def _accompany(command: Sequence[str], out: BinaryIO) -> int:
    """Run the command until it ends by itself, and return its exit code. Raises Released."""
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=dying_with_parent(signal.SIGKILL),  # noqa: PLW1509 - one thread
    )
    try:
        while (code := child.poll()) is None:
            _listen(LOOK_SECONDS)
        return code
    except Released as released:
        _end(child, released.seconds)
        raise
    finally:
        _sweep(child)


def _listen(seconds: float) -> None:
    """Wait for a byte or the end of the owner's pipe, at most so many seconds. Raises Released."""
    ready, _, _ = select.select([0], [], [], seconds)
    if ready:
        raise Released(ORDERLY_SECONDS if os.read(0, 1) else HASTY_SECONDS)


def _end(child: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Interrupt the command, and once more after half of the time."""
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        try:
            child.wait(seconds / 2)
        except subprocess.TimeoutExpired:
            continue
        return


def _sweep(child: "subprocess.Popen[bytes]") -> None:
    """Kill all processes that the command left behind in its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    sys.exit(main())
