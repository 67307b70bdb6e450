"""Wraps commands so that they run in the sandbox, or as isolated as this machine allows."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.worker.sandbox.control_groups import SYSTEMD, NoGroups, share_own_group
from rookery.worker.sandbox.enclosure import (
    BOOT,
    HOME,
    MEBIBYTE,
    SCOPE,
    SOCKET_KIB,
    Enclosure,
    UserIds,
    Way,
)
from rookery.worker.system import ThisSystem

BUBBLEWRAP = "bwrap"
PROBE_SECONDS = 30.0
PROBE_CODE = 42
PROCESSORS = os.cpu_count() or 1
PLAYING_TASKS = 256 + 4 * PROCESSORS
PLAYING_FILE_MIB = 64
BUILD_PROCESSES = 256 + 8 * PROCESSORS
BUILD_TEMPORARY_MIB = 2048
BUILD_FILE_MIB = 8192
BUILD_NICENESS = 10
LEAST_FREE = 16
"""The part of the memory that must be left."""
RUNNING = ("--scope", "--quiet", "--collect", "--property=Delegate=yes", "--")
SOCKET_BUFFER = Path("/proc/sys/net/core/wmem_default")
SURROUNDINGS = {"LANG": "C.UTF-8", "HOME": HOME, "TMPDIR": "/tmp"}  # noqa: S108 - its own
ADVICE = (
    "Install bubblewrap, or allow user namespaces (docs/worker.md), or run other people's programs"
    " without a sandbox by --without-sandbox."
)


@dataclass(frozen=True, slots=True)
class BuiltEngine:
    """A program that can be started."""

    command: tuple[str, ...]
    digest: str
    """The SHA-256 of the program."""
    options: tuple[tuple[str, str], ...] = ()
    """UCI options that set the engine's nets."""
    readable: tuple[Path, ...] = ()
    """The files that the program needs to read, besides the system's folders."""
    environment: tuple[tuple[str, str], ...] = ()
    """Environment variables that it needs, besides those of every engine."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How commands are wrapped on this machine. `why` is a sentence if there is no isolation."""

    available: bool
    """Whether programs are isolated, which a run may demand. If not, they have a clean environment
    and a few limits."""
    why: str = ""
    memory_mib: int = 0
    """The most memory that one program may use with all its processes; 0 for any amount."""
    least_free_mib: int = 0
    """With less memory left, programs are ended during whose time the machine lost as much as one
    of them may use; 0 for no such limit."""
    group: str = ""
    """The control group for those of sandboxes, or SCOPE; empty if there are none."""
    scope: tuple[str, ...] = ()
    """The words that make a group of systemd's for each command."""
    no_groups: str = ""
    """Why there are no control groups."""
    socket_kib: int = SOCKET_KIB
    """The size of the buffer that this machine gives a socket."""
    filtered: bool = True
    """Whether the kernel refuses system calls that no engine needs."""
    build_processes: int = BUILD_PROCESSES
    bubblewrap: str = ""
    """The path of bubblewrap, if the worker can't make namespaces itself."""
    permitted: bool = False
    """Whether the owner lets programs of strangers run without isolation."""

    @property
    def takes_strangers(self) -> bool:
        """Whether code that comes with an order may run here."""
        return self.available or self.permitted

    @property
    def refusal(self) -> str:
        """Why such code may not run here, and what the owner can do."""
        return f"This machine runs other people's programs in a sandbox only. {self.why} {ADVICE}"

    @property
    def limits(self) -> str:
        """What enforces the limits of a sandbox, in words."""
        if self.group:
            by = "control groups of systemd's" if self.scope else "control groups"
            counted = f"memory and tasks are limited by {by}"
        else:
            counted = f"memory is watched, without control groups ({self.no_groups})"
        calls = "are filtered" if self.filtered else "are not filtered on this processor"
        return f"{counted}; system calls {calls}"

    @property
    def owner(self) -> UserIds | None:
        """The account that must own the files of a build, if it is not the worker's."""
        if not self.available:
            return None
        inside = UserIds.inside()
        return inside if inside.uid != os.geteuid() else None

    def playing(self, built: BuiltEngine, *, memory_mib: int = 0) -> tuple[str, ...]:
        """Return the command to play with. Its pipes are connected to the engine directly."""
        return self._wrapped(
            built.command,
            Enclosure(
                way=self._way,
                bubblewrap=self.bubblewrap,
                readable=_paths(built.readable),
                folder=self._home,
                environment={**self._surroundings, **dict(built.environment)},
                niceness=_niceness(),
                memory_mib=memory_mib or self.memory_mib,
                least_free_mib=0 if self.group else self.least_free_mib,
                group=self.group,
                socket_kib=self.socket_kib,
                filtered=self.filtered,
                tasks=PLAYING_TASKS,
                file_mib=PLAYING_FILE_MIB if self.available else 0,
            ),
        )

    def building(  # noqa: PLR0913 - each is a wall of its own
        self,
        command: Sequence[str],
        *,
        folder: Path,
        scratch: Path,
        readable: Sequence[Path],
        environment: Mapping[str, str],
        relay: Path | None = None,
        most_bytes: int = 0,
    ) -> tuple[str, ...]:
        """Return the command of a build step, which may write only to its scratch folder."""
        return self._wrapped(
            command,
            Enclosure(
                way=self._way,
                bubblewrap=self.bubblewrap,
                readable=_paths(readable),
                writable=(str(scratch),),
                folder=str(folder),
                environment={**self._surroundings, **environment},
                relay=str(relay) if relay and self.available else "",
                niceness=_niceness() + BUILD_NICENESS,
                memory_mib=self.memory_mib,
                least_free_mib=0 if self.group else self.least_free_mib,
                group=self.group,
                socket_kib=self.socket_kib,
                filtered=self.filtered,
                processes=self.build_processes,
                tasks=2 * self.build_processes,
                temporary_mib=BUILD_TEMPORARY_MIB,
                file_mib=BUILD_FILE_MIB,
                deleted_mib=max(most_bytes // MEBIBYTE, 1) if most_bytes else 0,
            ),
        )

    @property
    def _way(self) -> Way:
        if not self.available:
            return "none"
        return "bubblewrap" if self.bubblewrap else "namespaces"

    @property
    def _home(self) -> str:
        return HOME if self.available else "/"

    @property
    def _surroundings(self) -> dict[str, str]:
        path = {"PATH": os.pathsep.join(os.get_exec_path())}
        return path | (SURROUNDINGS if self.available else {"LANG": "C.UTF-8"})

    def _wrapped(self, command: Sequence[str], enclosure: Enclosure) -> tuple[str, ...]:
        if os.name != "posix":
            return tuple(command)
        root = str(Path(__file__).parents[3])
        launcher = (sys.executable, "-I", "-S", "-c", BOOT, root, enclosure.text())
        return (*self.scope, *launcher, *command)


NO_SANDBOX = Sandbox(False, "The sandbox was not requested.", permitted=True)


def _niceness() -> int:
    return os.nice(0) if os.name == "posix" else 0


def _paths(readable: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(path) for path in readable)


async def detect_sandbox(threads: Threads, *, permitted: bool = False) -> Sandbox:
    """Find out by trying: nothing else tells what this kernel and its settings allow."""
    return replace(await threads.io(_found), permitted=permitted)


def _found() -> Sandbox:
    """Return a sandbox with the launcher's own namespaces, else with bubblewrap."""
    memory = ThisSystem().memory_mib()
    most = memory * 3 // 4
    if sys.platform != "linux":
        return Sandbox(False, "There are sandboxes on Linux only.", most)
    # Imported here because it needs Linux's library.
    from rookery.worker.sandbox.system_calls import is_available

    own = Sandbox(
        True,
        memory_mib=most,
        least_free_mib=memory // LEAST_FREE,
        socket_kib=_socket_kib(),
        filtered=is_available(),
    )
    if not (why := _failure(own)):
        return _with_groups(own)
    sentence = f"It allows no namespaces ({why})"
    program = shutil.which(BUBBLEWRAP)
    if program is None:
        return Sandbox(False, f"{sentence}, and bubblewrap is not installed.", most)
    wrapped = replace(own, bubblewrap=program)
    if not (why := _failure(wrapped)):
        return _with_groups(wrapped)
    return Sandbox(False, f"{sentence}, and bubblewrap gets none either ({why}).", most)


def _with_groups(sandbox: Sandbox) -> Sandbox:
    """Return the sandbox with control groups: below the worker's own, else with systemd's help."""
    try:
        grouped = replace(sandbox, group=str(share_own_group()))
    except NoGroups as no:
        why, program = str(no), shutil.which("systemd-run")
        if not program or not SYSTEMD.exists():
            return replace(sandbox, no_groups=why)
        whose = () if os.geteuid() == 0 else ("--user",)
        grouped = replace(sandbox, group=SCOPE, scope=(program, *whose, *RUNNING))
    failure = _failure(grouped)
    return replace(sandbox, no_groups=failure) if failure else grouped


def _socket_kib() -> int:
    try:
        return int(SOCKET_BUFFER.read_text()) // 1024
    except (OSError, ValueError):
        return SOCKET_KIB


def _failure(sandbox: Sandbox) -> str:
    """Why a command does not run in this sandbox; empty if it does."""
    command = sandbox.playing(BuiltEngine(("/bin/sh", "-c", f"exit {PROBE_CODE}"), ""))
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if ended.returncode == PROBE_CODE:
        return ""
    said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    return said[-1].removeprefix("rookery: ") if said else "no word why"
