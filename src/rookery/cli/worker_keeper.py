"""A process that keeps one command running for its owner, and never lets it outlive the owner.

Started as `python -m rookery.cli.worker_keeper LOG COMMAND...`, with standard input as the owner's
pipe. A byte on it asks for an orderly end; its end of file means that the owner is gone. A command
that ends by itself is started again, after a while that grows, and the owner is told so on standard
output. Standard library only, one thread: the kernel ties the death signal of a child to the thread
that forked it.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from rookery.db.embedded.processes import dying_with_parent

LOOK_SECONDS = 0.2
ORDERLY_SECONDS = 4.0
HASTY_SECONDS = 1.0
FIRST_DELAY = 1.0
LONGEST_DELAY = 60.0
LONG_LIFE = 60.0
MOST_LOG_BYTES = 5_000_000


class Released(Exception):
    """The owner wants the command to end; `seconds` is how long that may take."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds


def main() -> int:
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
    """What ended a process, by what it left."""
    return f"by signal {-code}" if code < 0 else f"with exit code {code}"


def _tell(sentence: str) -> None:
    """To the owner, if it still listens."""
    with contextlib.suppress(OSError, ValueError):
        print(sentence, flush=True)


def opened(log: Path) -> BinaryIO:
    """To be added to; a log that has become long starts anew."""
    long = log.exists() and log.stat().st_size > MOST_LOG_BYTES
    return log.open("wb" if long else "ab")


def _accompany(command: Sequence[str], out: BinaryIO) -> int:
    """How the command ended, once it has by itself; raises Released."""
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
    """Waits that long for a word of the owner; raises Released."""
    ready, _, _ = select.select([0], [], [], seconds)
    if ready:
        raise Released(ORDERLY_SECONDS if os.read(0, 1) else HASTY_SECONDS)


def _end(child: "subprocess.Popen[bytes]", seconds: float) -> None:
    """Asked once, asked again half-way, and then not asked any more."""
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        try:
            child.wait(seconds / 2)
        except subprocess.TimeoutExpired:
            continue
        return


def _sweep(child: "subprocess.Popen[bytes]") -> None:
    """Whatever the command started and left behind shares its process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


if __name__ == "__main__":
    sys.exit(main())
