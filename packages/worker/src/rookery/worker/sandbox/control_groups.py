"""Control groups (version 2): where the worker may make them, the kernel itself limits the memory
and the tasks of each sandbox, and counts everything that it holds for a program.

The group of the worker is divided: its processes move to one group below it, because the kernel
limits only groups without processes of their own, and each sandbox gets another. Only the program
is in the group of a sandbox, so that who watches outlives what it watches and can say why.
"""

import contextlib
import os
from pathlib import Path

from rookery.worker.sandbox.enclosure import MEBIBYTE, Enclosure

MOUNTS = Path("/proc/self/mountinfo")
OWN = Path("/proc/self/cgroup")
SYSTEMD = Path("/run/systemd/system")
DELEGATED = ("user.delegate", "trusted.delegate")
CONTROLLERS = frozenset({"memory", "pids"})
OUTSIDE, SANDBOX = "outside", "sandbox-"
TRIES = 10
STALE_SECONDS = 60.0


class NoGroups(Exception):
    """Why there are no control groups for sandboxes. The text completes a sentence."""


def share_own_group(*, granted: bool = False) -> Path:
    """Prepare the group of this process for those of sandboxes, and return it. Raises NoGroups.
    systemd's managers of users do not mark what they have granted."""
    try:
        found = _own_group()
        base = found.parent if found.name == OUTSIDE else found
        _check(base, granted=granted)
        if not _words(base / "cgroup.subtree_control") >= CONTROLLERS:
            _move_out(base)
            (base / "cgroup.subtree_control").write_text("+memory +pids")
    except OSError as error:
        raise NoGroups(f"{error.filename or OWN}: {error.strerror}") from None
    return base


def _own_group() -> Path:
    """Return the folder of this process's group."""
    named = [line for line in OWN.read_text().splitlines() if line.startswith("0::/")]
    mounts = [line.split() for line in MOUNTS.read_text().splitlines() if " - cgroup2 " in line]
    own = Path(named[0][3:]) if named else Path()
    root, mounted = mounts[0][3:5] if mounts else ("/", "")
    # A container may show only groups of others.
    if not named or not mounts or ".." in own.parts or not own.is_relative_to(root):
        raise NoGroups("this machine has none of version 2")
    return Path(mounted, own.relative_to(root))


def _check(base: Path, *, granted: bool) -> None:
    if not _words(base / "cgroup.controllers") >= CONTROLLERS:
        raise NoGroups("those of version 2 limit neither memory nor processes here")
    if not all(os.access(path, os.W_OK) for path in (base, base / "cgroup.subtree_control")):
        raise NoGroups("the worker may not divide its own")
    if SYSTEMD.exists() and not granted and not any(_has_mark(base, name) for name in DELEGATED):
        raise NoGroups("systemd has not delegated the worker's own")


def _has_mark(base: Path, name: str) -> bool:
    with contextlib.suppress(OSError):
        return os.getxattr(base, name) == b"1"
    return False


def _words(path: Path) -> frozenset[str]:
    return frozenset(path.read_text().split())


def _move_out(base: Path) -> None:
    """Move all processes of a group to one below it. Only the first group of a machine may have
    both processes and limited groups."""
    if not (base / "cgroup.events").exists():
        return
    outside = base / OUTSIDE
    outside.mkdir(exist_ok=True)
    for _ in range(TRIES):
        numbers = _words(base / "cgroup.procs")
        if not numbers:
            return
        for number in numbers:
            with contextlib.suppress(ProcessLookupError):
                (outside / "cgroup.procs").write_text(number)


# The group of one sandbox, as the launcher makes and uses it. Its files are open before the file
# tree of the machine is gone: where processes enter, and what happened in it.


def make_group(base: Path, enclosure: Enclosure) -> tuple[int, int]:
    """Make a group for the sandbox of this process, and open its files. Raises OSError."""
    group = base / group_name()
    with contextlib.suppress(FileNotFoundError):
        group.rmdir()  # of a launcher that had the same number
    group.mkdir()
    _remove_older(group)
    if enclosure.memory_mib:
        (group / "memory.max").write_text(str(enclosure.memory_mib * MEBIBYTE))
        (group / "memory.oom.group").write_text("1")
        with contextlib.suppress(FileNotFoundError):
            (group / "memory.swap.max").write_text("0")
    (group / "pids.max").write_text(str(enclosure.tasks))
    entrance = os.open(group / "cgroup.procs", os.O_WRONLY)
    events = os.open(group / "memory.events", os.O_RDONLY)
    for number in (entrance, events):
        os.set_inheritable(number, True)
    return entrance, events


def group_name() -> str:
    return f"{SANDBOX}{os.getpid()}"


def enter_group(entrance: int) -> None:
    """Move this process, and so all that it starts."""
    os.write(entrance, b"0")


def has_run_out_of_memory(events: int) -> bool:
    """Whether the kernel has ended the group's processes, because they had all their memory."""
    lines = os.pread(events, 4096, 0).splitlines()
    return any(line.startswith(b"oom_kill ") and line != b"oom_kill 0" for line in lines)


def remove_group(base: int) -> None:
    """Remove the group of this process, whose sandbox has ended. The folder above it is open."""
    with contextlib.suppress(OSError):
        os.rmdir(group_name(), dir_fd=base)


def _remove_older(group: Path) -> None:
    """Remove groups whose launcher was killed, or was replaced by bubblewrap. Those with processes
    can't be removed; a new one has none yet."""
    made = group.stat().st_ctime
    for other in group.parent.iterdir():
        with contextlib.suppress(OSError):
            if other.name.startswith(SANDBOX) and made - other.stat().st_ctime > STALE_SECONDS:
                other.rmdir()
