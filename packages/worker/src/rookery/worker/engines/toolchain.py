"""Finds the programs that a build needs on this machine, and their versions."""

import os
import platform
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.model.engine import ToolRecord, Version, read_version
from rookery.worker.engines.orders import BuildFailed
from rookery.worker.engines.programs import Output, Program, TooLong, run_program
from rookery.worker.system import X86_64, ThisSystem, architecture
from rookery.worker.tools import find_version

SECONDS = 30.0
_WANTED = re.compile(r"(?P<name>.*?)(?:\s*>=\s*(?P<version>[\d.]+))?\s*\Z", re.DOTALL)

# If one of these prints no version, it is an empty wrapper, such as rustup leaves behind.
TELL_THEIR_VERSION = frozenset({"make", "cargo", "cmake"})


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A program on this machine. `says` is the line that it prints about its version."""

    name: str
    path: str
    says: str

    @property
    def version(self) -> Version:
        return read_version(find_version(self.says))


def read_tool(text: str) -> ToolRecord:
    """Parse a tool such as `clang++>=14.0`, or a name alone."""
    found = _WANTED.match(text.strip())
    assert found
    return ToolRecord(found["name"], found["version"] or "")


def describe_tool(tool: ToolRecord) -> str:
    return f"{tool.name} {tool.version} or newer" if tool.version else tool.name


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The programs on the PATH of builds."""

    environment: Mapping[str, str]
    threads: Threads

    async def find(self, name: str) -> FoundTool | None:
        folders = self.environment.get("PATH", os.defpath)
        path = await self.threads.io(shutil.which, name, path=folders)
        return FoundTool(name, path, await self._says(path)) if path else None

    async def need(self, wanted: ToolRecord) -> FoundTool:
        """Find a tool. Raises BuildFailed, blaming this machine, if it is missing or too old."""
        tool = await self.find(wanted.name)
        if tool is None:
            raise BuildFailed(f"{describe_tool(wanted)} is not installed on this machine.")
        if not tool.says and wanted.name in TELL_THEIR_VERSION:
            raise BuildFailed(f"{wanted.name} does not start on this machine: see {tool.path}.")
        if tool.version < wanted.least:
            raise BuildFailed(
                f"{describe_tool(wanted)} is needed, and this machine has: {tool.says}."
            )
        return tool

    async def first(self, names: Iterable[str]) -> FoundTool:
        """Return the first of several alternatives that is there. Raise BuildFailed if there is
        none."""
        wanted = [read_tool(name) for name in names]
        for each in wanted:
            tool = await self.find(each.name)
            if tool and tool.version >= each.least:
                return tool
        raise BuildFailed(f"This machine has none of {', '.join(map(describe_tool, wanted))}.")

    async def _says(self, path: str) -> str:
        for words in (("--version",), ("version",), ("-version",)):
            output = Output(10_000, 10_000)
            try:
                program = Program((path, *words), environment=self.environment, seconds=SECONDS)
                code = await run_program(program, output)
            except (TooLong, OSError):
                continue
            lines = output.text.strip().splitlines()
            if code == 0 and lines:
                return lines[0].strip()
        return ""


def tool_folders(tools: Iterable[FoundTool]) -> tuple[Path, ...]:
    """Return the folders that a build must see to run these programs. It reads links."""
    places = {path for tool in tools for path in (Path(tool.path), Path(tool.path).resolve())}
    found = {path.parent for path in places}
    found |= {path.parent.parent for path in places if _is_unpacked(path)}
    rust = rust_home()
    return (*found, rust) if rust and rust.is_dir() else tuple(found)


def _is_unpacked(program: Path) -> bool:
    """Whether a program is in a folder of its own with its libraries. A home folder has a `bin`
    too."""
    above = program.parent.parent
    alone = above not in (Path("/"), _home()) and above.parent != Path("/home")
    return alone and program.parent.name == "bin" and (above / "lib").is_dir()


def rust_home() -> Path | None:
    """Return the folder with rustup's compilers. cargo's own folder contains secrets and is not
    shown."""
    home = _home()
    return home / ".rustup" if home else None


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


# The properties of a machine that its programs depend on: system, processor and name.


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """The identity of a machine. Machines with equal identities can run each other's programs."""

    system: str
    processor: str
    flags: str
    host: str


def host_identity() -> HostIdentity:
    """Return the identity of this machine. It reads files, so call it in a thread."""
    here = ThisSystem()
    cpu = here.cpu()
    system = f"{here.name} {'-'.join(platform.libc_ver())}"
    return HostIdentity(system, cpu.machine, f"{cpu.name} {sorted(cpu.flags)}", here.host_id())


def best_architecture(makefile: str) -> str:
    """Return the best architecture that a Makefile like Stockfish's knows, if it can't detect it
    itself."""
    here = ThisSystem()
    cpu = here.cpu()
    best = architecture(cpu, here.name)
    if best in makefile:
        return best
    fitting = (name for name, needed in X86_64 if needed <= cpu.flags and name in makefile)
    return next(fitting, best)
