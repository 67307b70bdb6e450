"""Runs fastchess for its owner, and lets neither it nor its engines outlive the owner.

Started as `python -I -S fastchess_guard.py COMMAND...` with a pipe from the owner as standard
input; fastchess writes to standard output. A byte in the pipe asks for an orderly end, for which
fastchess has EXIT_SECONDS. The end of the pipe means that the owner has ended, even by kill -9, and
ends everything at once. This process ends with fastchess's exit code, or by the same signal.

Engines are found even if they have left fastchess's process group: on Linux, processes below this
one that lose their parent become its children. Only the standard library and one thread are used,
because the kernel ties the death signal of a child to the thread that forked it.
"""

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

EXIT_SECONDS = 15.0
"""How long fastchess may take to end its engines after an interrupt, as in the official worker."""
LOOK_SECONDS = 0.05
DEATH_SECONDS = 5.0
"""How long to wait after SIGKILL. Processes that the kernel holds for longer are left to it."""
TO_THE_OWNER = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36


def main(command: Sequence[str]) -> int:
    # Signals from a terminal or service manager are for the owner.
    for number in TO_THE_OWNER:
        signal.signal(number, signal.SIG_IGN)
    _process_control(PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = start(command)
    except OSError as error:
        os.write(1, f"Error: {command[0]}: {error.strerror}\n".encode())
        return 1
    wait_for_end(child)
    kill_all(child)
    return child.returncode


def start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start fastchess with SIGPIPE ignored, because it writes to engines that may have crashed.

    Python ignores SIGPIPE itself, but would restore the default for a child. Then the whole match
    would end with the first engine that crashes at the wrong moment.
    """
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        restore_signals=False,
        start_new_session=True,
        preexec_fn=_before_exec(),  # noqa: PLW1509 - one thread
    )


def wait_for_end(child: "subprocess.Popen[bytes]") -> None:
    """Wait until fastchess has ended, its time for that is over, or the owner has ended."""
    deadline = float("inf")
    while not _has_ended(child.pid) and time.monotonic() < deadline:
        listening = [0] if deadline == float("inf") else []
        if select.select(listening, [], [], LOOK_SECONDS)[0]:
            if not os.read(0, 1):
                return
            child.send_signal(signal.SIGINT)
            deadline = time.monotonic() + EXIT_SECONDS


def kill_all(child: "subprocess.Popen[bytes]") -> None:
    """Kill fastchess, its group and all processes that became children, until nothing is left.

    The group is killed before the wait: once reaped, its number could belong to another process.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    deadline = time.monotonic() + DEATH_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            for pid in _children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(LOOK_SECONDS / 10)


def exit_like(code: int) -> int:
    """Return the exit code for this process. Does not return if fastchess was killed by a
    signal."""
    if code >= 0:
        return code
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 1


def _has_ended(pid: int) -> bool:
    """Whether a process has ended, without reaping it."""
    how = os.WEXITED | os.WNOWAIT | os.WNOHANG
    return os.waitid(os.P_PID, pid, how) is not None


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:  # noqa: PTH123 - a light start
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _before_exec() -> Callable[[], None]:
    parent = os.getpid()

    def dying_with_parent() -> None:
        _process_control(PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in TO_THE_OWNER:
            signal.signal(number, signal.SIG_DFL)
        if os.getppid() != parent:  # the parent died before the line above
            os._exit(1)

    return dying_with_parent


def _process_control(what: int, value: int) -> None:
    """Call prctl where it exists; elsewhere, only process groups are used."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(what, value, 0, 0, 0)


if __name__ == "__main__":
    sys.exit(exit_like(main(sys.argv[1:])))
