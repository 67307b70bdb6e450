"""Wraps commands so that they run in the sandbox, or as close to it as this machine allows."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import rookery
from rookery.boundary.offload import Threads
from rookery.worker.engines.machine import memory_mib
from rookery.worker.engines.order import Built
from rookery.worker.engines.sandbox.enclosure import HOME, Account, Enclosure

BOOT = (
    "import sys; sys.path.insert(0, sys.argv.pop(1));"
    " from rookery.worker.engines.sandbox.launcher import main; main(sys.argv[1:])"
)
PROBE_SECONDS = 30.0
PROBE_CODE = 42
PROCESSORS = os.cpu_count() or 1
PLAYING_TASKS = 256 + 4 * PROCESSORS
BUILD_PROCESSES = 256 + 8 * PROCESSORS
BUILD_TEMPORARY_MIB = 2048
BUILD_FILE_MIB = 8192
SURROUNDINGS = {"LANG": "C.UTF-8", "HOME": HOME, "TMPDIR": "/tmp"}  # noqa: S108 - its own


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How commands are wrapped here; `why` is a sentence when namespaces are not available."""

    available: bool
    """A run may demand it; without it programs have a clean environment and a few limits."""
    why: str = ""
    memory_mib: int = 0
    """The most that one program may take, all its processes together; 0 for any amount."""
    build_processes: int = BUILD_PROCESSES

    @property
    def owner(self) -> Account | None:
        """Whom the files of a build must belong to, when that is not the worker itself."""
        if not self.available:
            return None
        inside = Account.inside()
        return inside if inside.uid != os.geteuid() else None

    def playing(self, built: Built, *, memory_mib: int = 0) -> tuple[str, ...]:
        """The command that plays; the pipes given to it are the engine's own."""
        return self._wrapped(
            built.command,
            Enclosure(
                namespaces=self.available,
                readable=_paths(built.readable),
                folder=self._home,
                environment={**self._surroundings, **dict(built.environment)},
                memory_mib=memory_mib or self.memory_mib,
                tasks=PLAYING_TASKS,
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
        network: bool = False,
    ) -> tuple[str, ...]:
        """The command of a build, which may write to its scratch folder alone."""
        return self._wrapped(
            command,
            Enclosure(
                namespaces=self.available,
                readable=_paths(readable),
                writable=(str(scratch),),
                folder=str(folder),
                environment={**self._surroundings, **environment},
                network=network,
                memory_mib=self.memory_mib,
                processes=self.build_processes,
                tasks=2 * self.build_processes,
                temporary_mib=BUILD_TEMPORARY_MIB,
                file_mib=BUILD_FILE_MIB,
            ),
        )

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
        boot = (sys.executable, "-I", "-S", "-c", BOOT, root)
        return (*boot, enclosure.text(), *command)


NO_SANDBOX = Sandbox(False, "The sandbox was not asked for.")


def _paths(readable: Sequence[Path]) -> tuple[str, ...]:
    return tuple(str(path) for path in readable)


async def detect(threads: Threads) -> Sandbox:
    """Tries it: nothing else tells what this kernel and its settings allow."""
    return await threads.io(_tried)


def _tried() -> Sandbox:
    most = memory_mib() * 3 // 4
    if sys.platform != "linux":
        return Sandbox(False, "Namespaces exist on Linux only.", most)
    sandbox = Sandbox(True, memory_mib=most)
    command = sandbox.playing(Built(("/bin/sh", "-c", f"exit {PROBE_CODE}"), ""))
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Sandbox(False, f"The sandbox can't be tried: {error}.", most)
    if ended.returncode == PROBE_CODE:
        return sandbox
    said = ended.stderr.decode("utf-8", "replace").strip().splitlines()
    why = said[-1].removeprefix("rookery: ") if said else "no word why"
    return Sandbox(False, f"This machine allows no namespaces ({why}).", most)
