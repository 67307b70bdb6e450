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
