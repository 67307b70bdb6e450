"""Starts an engine's program in a session of its own; its output knows when it was written to.

Linux no longer notes when an ordinary pipe was written to; it does so for named ones. Where none
can be made the output is an ordinary pipe, and nothing is known of its writings.
"""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
"""Where a name costs no disk."""
OUTPUT = "output"


def launch(
    command: tuple[str, ...], folder: Path | None, environment: Mapping[str, str] | None
) -> "subprocess.Popen[bytes]":
    """The process with its three pipes, none of which blocks; raises OSError."""
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
    """The reading and the writing end of a pipe that had a name for a moment; None without one."""
    try:
        with tempfile.TemporaryDirectory(dir=_place()) as folder:
            name = Path(folder, OUTPUT)
            os.mkfifo(name, 0o600)
            return _opened(name)
    except (OSError, AttributeError):
        return None


def _opened(name: Path) -> tuple[int, int]:
    # In this order neither end waits for the other.
    reading = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
    try:
        return reading, os.open(name, os.O_WRONLY)
    except OSError:
        os.close(reading)
        raise


def _place() -> Path | None:
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else None


# Splits what an engine writes into lines, as bytes, within fixed bounds of memory.
#
# Engines write twenty to forty lines of search information a move and one of them matters. So
# lines stay bytes; the last one with a score is remembered, an exact one rather than a bound, and
# nothing is parsed here.

MOST_LINE_BYTES = 65_536
"""A longer line is dropped: no move and no score needs so much."""


class LineSplitter:
    """One stream of bytes in, its complete lines out; mutable, fed by one reader."""

    __slots__ = ("_partial", "_skipping")

    def __init__(self) -> None:
        self._partial = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete, without their ends."""
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(head)
            return []
        complete = rest.split(b"\n")
        last = complete.pop()
        if not self._skipping:
            complete.insert(0, self._partial + head)
        self._partial, self._skipping = b"", False
        self._keep(last)
        return complete

    def _keep(self, data: bytes) -> None:
        """Hold the beginning of a line whose end has not come; an endless one is dropped."""
        if not self._skipping:
            self._partial += data
            if len(self._partial) > MOST_LINE_BYTES:
                self._partial, self._skipping = b"", True


class LastScore:
    """The line that says how a search stands: the last exact score, or the last bound."""

    __slots__ = ("_bound", "_exact")

    def __init__(self) -> None:
        self._bound = self._exact = b""

    @property
    def line(self) -> bytes:
        return self._exact or self._bound

    def hear(self, lines: list[bytes]) -> None:
        """Take in the lines of one reading; those before the last exact score don't count."""
        bound = b""
        for line in reversed(lines):
            if not has_score(line):
                continue
            if not is_bound(line):
                self._exact = line
                return
            bound = bound or line
        self._bound = bound or self._bound


def is_bound(line: bytes) -> bool:
    """Whether the score is only known to be above or below what is said."""
    return b"bound" in line and (b" lowerbound" in line or b" upperbound" in line)


def has_score(line: bytes) -> bool:
    """Whether a line says how the main variation stands."""
    return (
        line.startswith(b"info ")
        and b" score " in line
        and not line.startswith(b"info string")
        and (b" multipv " not in line or b" multipv 1 " in line)
    )
