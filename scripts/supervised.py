"""Runs a program with all processes that it starts: Ctrl-C or SIGTERM ask it to end, and nothing is
left running.

The program gets its own session, so that Ctrl-C in a terminal reaches only this process, and the
program is asked to end once instead of losing its servers suddenly. All processes that it leaves
behind become our children, at any depth, and so they are found, reported and ended.
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
"""How long a program may take after it was asked to end."""
LINGER_SECONDS = 10.0
"""How long its processes may outlive it: a database that lost its owner notices within this
time."""
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Ending:
    """How a program ended, and the command lines of processes that had to be ended after it."""

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
    """Runs a program to its end and passes each line of its output to `hear`."""
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
        # Not earlier: processes left behind may have held the pipe open.
        listener.join()
        child.stdout.close()
        return Ending(child.returncode, left, bool(interrupts))


@contextlib.contextmanager
def _counted_interrupts() -> Iterator[list[int]]:
    """Counts Ctrl-C and SIGTERM instead of raising: an exception between the program's start and
    our waiting for it would leave it running."""
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
    """Makes this process adopt orphaned descendants."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wind_up(child: "subprocess.Popen[str]", interrupts: Sequence[int]) -> None:
    """Asks the program to end; kills it at a second Ctrl-C, or if it takes too long."""
    child.send_signal(signal.SIGINT)
    deadline = time.monotonic() + WIND_UP_SECONDS
    _await(child, lambda: len(interrupts) > 1 or time.monotonic() > deadline)
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _sweep(linger: float) -> tuple[str, ...]:
    """Waits a moment for remaining processes, then ends them; returns their command lines."""
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
    """Our remaining children with their command lines, after reaping the dead ones."""
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
    """Waits until the program has ended, or `enough` says so. It reaps orphans meanwhile, because
    programs that check whether a process is gone would see zombies."""
    while child.poll() is None and not enough():
        _reap(spare=child.pid)
        time.sleep(LOOK_SECONDS)


def _reap(spare: int = 0) -> None:
    """Reaps dead children, except for the one that other code waits for."""
    with contextlib.suppress(ChildProcessError):
        while dead := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
            if dead.si_pid == spare:
                return
            os.waitpid(dead.si_pid, 0)
