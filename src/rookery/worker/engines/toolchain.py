"""Finds the programs a build needs on this machine, and which version of each is there."""

import os
import platform
import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.model.engine import ToolRecord, Version, read_version
from rookery.worker.engines.orders import BuildFailed
from rookery.worker.engines.programs import Output, Program, TooLong, run_program
from rookery.worker.system import X86_64, ThisSystem, architecture

SECONDS = 30.0
_WANTED = re.compile(r"(?P<name>.*?)(?:\s*>=\s*(?P<version>[\d.]+))?\s*\Z", re.DOTALL)
_VERSION = re.compile(r"\d+(?:\.\d+)+|\b\d+\b", re.ASCII)

# One of these that can't say its version is a shell around nothing, as rustup leaves behind.
TELL_THEIR_VERSION = frozenset({"make", "cargo", "cmake"})


@dataclass(frozen=True, slots=True)
class FoundTool:
    """A program on this machine; `says` is its own line about itself."""

    name: str
    path: str
    says: str

    @property
    def version(self) -> Version:
        found = _VERSION.search(self.says)
        return read_version(found[0]) if found else ()


def read_tool(text: str) -> ToolRecord:
    """A tool from `clang++>=14.0` or a name alone."""
    found = _WANTED.match(text.strip())
    assert found
    return ToolRecord(found["name"], found["version"] or "")


def describe_tool(tool: ToolRecord) -> str:
    return f"{tool.name} {tool.version} or newer" if tool.version else tool.name


@dataclass(frozen=True, slots=True)
class Toolchain:
    """The programs on the path of builds."""

    environment: Mapping[str, str]
    threads: Threads

    async def find(self, name: str) -> FoundTool | None:
        folders = self.environment.get("PATH", os.defpath)
        path = await self.threads.io(shutil.which, name, path=folders)
        return FoundTool(name, path, await self._says(path)) if path else None

    async def need(self, wanted: ToolRecord) -> FoundTool:
        """Raises BuildFailed, for this machine, when it is missing or too old."""
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
        """The first of several that would do; raises BuildFailed when there is none."""
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
    """What a build must see of the disk so that these programs run; reads links."""
    places = {path for tool in tools for path in (Path(tool.path), Path(tool.path).resolve())}
    found = {path.parent for path in places}
    found |= {path.parent.parent for path in places if _is_unpacked(path)}
    rust = rust_home()
    return (*found, rust) if rust and rust.is_dir() else tuple(found)


def _is_unpacked(program: Path) -> bool:
    """Whether a program lies with its libraries in a folder of their own; a home has a `bin`
    too."""
    above = program.parent.parent
    alone = above not in (Path("/"), _home()) and above.parent != Path("/home")
    return alone and program.parent.name == "bin" and (above / "lib").is_dir()


def rust_home() -> Path | None:
    """Where rustup keeps its compilers; cargo's own folder holds secrets and is not given."""
    home = _home()
    return home / ".rustup" if home else None


def _home() -> Path | None:
    try:
        return Path.home()
    except RuntimeError:
        return None


# What makes this machine's programs its own: system, processor and name.


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """Two machines of equal identity can run each other's programs."""

    system: str
    processor: str
    flags: str
    host: str


def host_identity() -> HostIdentity:
    """The identity of this machine; reads files, so that it belongs into a thread."""
    here = ThisSystem()
    cpu = here.cpu()
    system = f"{here.name} {'-'.join(platform.libc_ver())}"
    return HostIdentity(system, cpu.machine, f"{cpu.name} {sorted(cpu.flags)}", here.host_id())


def best_architecture(makefile: str) -> str:
    """The best of those that a Makefile in Stockfish's way knows, where it can't tell itself."""
    here = ThisSystem()
    cpu = here.cpu()
    best = architecture(cpu, here.name)
    if best in makefile:
        return best
    fitting = (name for name, needed in X86_64 if needed <= cpu.flags and name in makefile)
    return next(fitting, best)
