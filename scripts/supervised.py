"""Runs a program and all it starts: Ctrl-C or SIGTERM ask it to end, and nothing stays behind.

It gets a session of its own, so that Ctrl-C in a terminal reaches us alone and the program is asked
once, in order, instead of losing its servers under its feet. Whatever it leaves behind becomes our
child, however deep down it was started, and so it is found, named and ended.
"""

import contextlib
import ctypes
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
WIND_UP_SECONDS = 60.0
"""How long a program that was asked to end may take over it."""
LINGER_SECONDS = 10.0
"""How long what it started may outlive it: a database that lost its owner notices within that."""
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended, and the words of the processes that had to be ended after it."""

    code: int
    left: tuple[str, ...]
    interrupted: bool

    @property
    def well(self) -> bool:
        return self.code == 0 and not self.left and not self.interrupted


def run(
    words: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    hear: Callable[[str], object],
    *,
    linger: float = LINGER_SECONDS,
) -> Ending:
    """Runs it to its end and passes on each line that it says."""
    _adopt()
    with _counted_interrupts() as interrupts:
        child = subprocess.Popen(
            words,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert child.stdout is not None
        listener = threading.Thread(target=_pass_on, args=(child.stdout, hear), daemon=True)
        listener.start()
        _await(child, lambda: bool(interrupts))
        if child.poll() is None:
            _wind_up(child, interrupts)
        left = _sweep(linger)
        # Only now: what was left behind may have held the pipe open.
        listener.join()
        child.stdout.close()
        return Ending(child.returncode, left, bool(interrupts))


@contextlib.contextmanager
def _counted_interrupts() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM are noted and not raised: raised between the program's start and our
    waiting for it, they would leave it without anybody who ends it."""
    heard: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: heard.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield heard
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(lines: Iterable[str], hear: Callable[[str], object]) -> None:
    for line in lines:
        hear(line)


def _adopt() -> None:
    """From now on, who loses its parent below us is ours."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wind_up(child: "subprocess.Popen[str]", interrupts: Sequence[int]) -> None:
    """Asks it to end; at a second Ctrl-C, or when it takes too long, it is killed."""
    child.send_signal(signal.SIGINT)
    deadline = time.monotonic() + WIND_UP_SECONDS
    _await(child, lambda: len(interrupts) > 1 or time.monotonic() > deadline)
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _sweep(linger: float) -> tuple[str, ...]:
    """Waits a moment for what still runs, then ends it; the words of what had to be ended."""
    deadline = time.monotonic() + linger
    left: dict[int, str] = {}
    while found := _orphans():
        if time.monotonic() > deadline:
            left |= found
            for pid in found:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)
    return tuple(left.values())


def _orphans() -> dict[int, str]:
    """Our children by now, with their words; the dead among them are laid to rest."""
    _reap()
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if fields[0] != "Z" and int(fields[1]) == os.getpid():
                said = (entry / "cmdline").read_bytes().decode(errors="replace")
                found[int(entry.name)] = said.replace("\0", " ").strip()
    return found


def _await(child: "subprocess.Popen[str]", enough: Callable[[], bool]) -> None:
    """Until it has ended, or enough was waited. Its orphans are laid to rest meanwhile: who looks
    whether one is gone would find it dead in the list of processes for ever."""
    while child.poll() is None and not enough():
        _reap(spare=child.pid)
        time.sleep(LOOK_SECONDS)


def _reap(spare: int = 0) -> None:
    """Lays our dead to rest, but for the one that somebody else waits for."""
    with contextlib.suppress(ChildProcessError):
        while dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if dead.si_pid == spare:
                return
            os.waitpid(dead.si_pid, 0)
