"""Programs that the supervisor runs: in a clean environment, with a log, and dying with it."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from rookery.storage.embedded import kernel

# Nothing of the surroundings (PGOPTIONS, LANG, TZ) may change how the server behaves.
ENVIRONMENT = {"LC_ALL": "C", "TZ": "UTC", "PATH": os.defpath}
LARGE_LOG = 1_000_000
TAIL = 8192
# What tells best why a program ended, most telling first.
MARKS = ("No space left", "PANIC:", "FATAL:", "error:")


def end_of(log: Path) -> int:
    """Where the log of the next program begins, to tell later what it said."""
    size = log.stat().st_size if log.exists() else 0
    return size if size <= LARGE_LOG else 0  # it will be turned over


def last_words(log: Path, start: int) -> str:
    """The line of the log since `start` that says best why the program ended."""
    with log.open("rb") as file:
        file.seek(max(start, log.stat().st_size - TAIL))
        lines = file.read().decode("utf-8", errors="replace").strip().splitlines()
    last = lines[-1] if lines else "it said nothing"
    best = next((line for mark in MARKS for line in lines if mark in line), last)
    for mark in MARKS[1:]:
        best = best.rpartition(mark)[2]
    return best.strip().rstrip(".")


def _open(log: Path) -> int:
    """A descriptor for a child's words; the log is turned over when it has grown."""
    if log.exists() and log.stat().st_size > LARGE_LOG:
        log.rename(log.with_suffix(".log.1"))
    return os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def start(
    command: list[str], log: Path, before_exec: Callable[[], None]
) -> subprocess.Popen[bytes]:
    words = _open(log)
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            env=ENVIRONMENT,
            preexec_fn=before_exec,  # noqa: PLW1509 the supervisor has one thread
        )
    finally:
        os.close(words)


def run(command: list[str], log: Path, pause: Callable[[float], None]) -> int:
    """Runs a program such as initdb; it dies with us, and when we are told to stop."""
    process = start(command, log, kernel.dying_with_parent(signal.SIGKILL))
    try:
        while process.poll() is None:
            pause(1.0)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return process.returncode
