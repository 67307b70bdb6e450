"""Wraps commands so that they run in the sandbox, or as isolated as this machine allows."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import rookery
from rookery.boundary.offload import Threads
from rookery.worker.sandbox.enclosure import BOOT, HOME, MEBIBYTE, Enclosure, UserIds, Way
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
    def owner(self) -> UserIds | None:
        """The account that must own the files of a build, if it is not the worker's."""
        if not self.available:
            return None
        inside = UserIds.inside()
        return inside if inside.uid != os.geteuid() else None

    def playing(self, built: BuiltEngine, *, memory_mib: int = 0) -> tuple[str, ...]:
        """The command to play with. Its pipes are connected to the engine directly."""
        return self._wrapped(
            built.command,
            Enclosure(
                way=self._way,
                bubblewrap=self.bubblewrap,
                readable=_paths(built.readable),
                folder=self._home,
                environment={**self._surroundings, **dict(built.environment)},
                memory_mib=memory_mib or self.memory_mib,
                tasks=PLAYING_TASKS,
                file_mib=PLAYING_FILE_MIB if self.available else 0,
            ),
        )

    def building(
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
        """The command of a build step, which may write only to its scratch folder."""
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
                memory_mib=self.memory_mib,
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
        root = str(Path(rookery.__file__).parent.parent)
        return (sys.executable, "-I", "-S", "-c", BOOT, root, enclosure.text(), *command)


NO_SANDBOX = Sandbox(False, "The sandbox was not requested.", permitted=True)


def _paths(readable: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(path) for path in readable)


async def detect_sandbox(threads: Threads, *, permitted: bool = False) -> Sandbox:
    """Find out by trying: nothing else tells what this kernel and its settings allow."""
    return replace(await threads.io(_found), permitted=permitted)


def _found() -> Sandbox:
    """A sandbox with the launcher's own namespaces, else with bubblewrap."""
    most = ThisSystem().memory_mib() * 3 // 4
    if sys.platform != "linux":
        return Sandbox(False, "There are sandboxes on Linux only.", most)
    own = Sandbox(True, memory_mib=most)
    if not (why := _failure(own)):
        return own
    sentence = f"It allows no namespaces ({why})"
    program = shutil.which(BUBBLEWRAP)
    if program is None:
        return Sandbox(False, f"{sentence}, and bubblewrap is not installed.", most)
    wrapped = replace(own, bubblewrap=program)
    if not (why := _failure(wrapped)):
        return wrapped
    return Sandbox(False, f"{sentence}, and bubblewrap gets none either ({why}).", most)


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
