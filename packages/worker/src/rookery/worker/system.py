"""The machine that a worker runs on: its resources, and how much of them the worker may use.
Only this module has calls that differ between operating systems."""

import asyncio
import contextlib
import ctypes
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from rookery.core.boundary.bridge import call_soon
from rookery.core.errors import Complaint
from rookery.match.processors import local_nodes, physical_cores, usable_processors

# How much of the machine the worker may use: numbers, or expressions in terms of what there is.

# What a worker needs from the operating system. Tests have their own.


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor: its name, and its instruction sets under Linux's names."""

    name: str
    flags: frozenset[str]
    machine: str
    """The kind of processor: x86_64, aarch64."""


class System(Protocol):
    """The operating system, as a worker uses it. Tests have their own."""

    name: str

    def processors(self) -> int:
        """Return the processors that this process may use, with regard to affinity and the
        container's quota."""
        ...

    def physical_cores(self) -> int: ...

    def numa_nodes(self) -> tuple[frozenset[int], ...]:
        """Return the processors of each node that this process may use."""
        ...

    def memory_mib(self) -> int:
        """Return the memory of the machine or its container."""
        ...

    def cpu(self) -> Cpu: ...

    def host_name(self) -> str: ...

    def host_id(self) -> str:
        """Return an id of the machine that stays the same after restarts."""
        ...

    def lower_priority(self) -> None:
        """Lower the priority of this process, so that the machine's user comes first."""
        ...

    def on_stop(self, loop: asyncio.AbstractEventLoop, ask: Callable[[], None]) -> None:
        """Call `ask` on the loop at every SIGINT and SIGTERM."""
        ...

    def lock(self, file: Path) -> bool:
        """Lock a file until this process ends. Returns False if another one has it."""
        ...

    def release(self) -> None:
        """Release all locked files."""
        ...

    def replace_process(self, command: list[str]) -> int:
        """Replace this process by another program. Where that is impossible, wait for it and return
        its exit code."""
        ...


MOST_CORES = 4096
_EXPRESSION = re.compile(r"(MAX|PHYS|\d{1,9})(?:([-/*])(\d{1,9}))?", re.ASCII)


class BadAllotment(Complaint):
    """A number of cores or of MiB that can't be read, or that this machine can't give."""

    exit_code = 2

    def __init__(self, text: str, examples: str) -> None:
        super().__init__(f"{text!r} is not possible: write {examples}.")


def parse_cores(text: str, system: System) -> int:
    """Parse a number of cores. `auto` means all physical ones but one, which is left for the runner
    and the owner."""
    if text == "auto":
        return max(1, min(system.physical_cores(), system.processors()) - 1)
    words = {"MAX": system.processors(), "PHYS": system.physical_cores()}
    found = _value(text, words)
    if found is None or not 1 <= found <= MOST_CORES:
        raise BadAllotment(text, "auto, 4, MAX, PHYS-1 or MAX/2")
    return found


def parse_memory(text: str, system: System) -> int:
    """Parse a number of MiB. `auto` means all of it: the server knows what a game takes."""
    if text == "auto":
        return system.memory_mib()
    found = _value(text, {"MAX": system.memory_mib()})
    if found is None or found < 1:
        raise BadAllotment(text, "auto, 8000, MAX-2000 or MAX/2")
    return found


def _value(text: str, words: dict[str, int]) -> int | None:
    found = _EXPRESSION.fullmatch(text.strip().upper())
    if not found or (found[1] not in words and not found[1].isdecimal()):
        return None
    word, sign, number = found.groups()
    value = words[word] if word in words else int(word)
    if not sign:
        return value
    by = int(number)
    return {"-": value - by, "*": value * by, "/": value // max(by, 1)}[sign]


# The processor's architecture, as Stockfish's Makefile names it. Runs choose machines by it.

AVX512 = {"avx512f", "avx512bw", "avx512dq", "avx512vl"}
ICE_LAKE = {
    "avx512cd",
    "avx512_vbmi2",
    "avx512_vpopcntdq",
    "avx512_bitalg",
    "avx512_vnni",
    "avx512ifma",
    "avx512vbmi",
    "vpclmulqdq",
    "gfni",
    "vaes",
}
X86_64 = (
    ("x86-64-avx512icl", {*AVX512, *ICE_LAKE, "bmi2"}),
    ("x86-64-vnni512", {*AVX512, "avx512_vnni", "bmi2"}),
    ("x86-64-avx512", {*AVX512, "bmi2"}),
    ("x86-64-avxvnni", {"avx_vnni", "avx2", "bmi2"}),
    ("x86-64-bmi2", {"avx2", "bmi2"}),
    ("x86-64-avx2", {"avx2"}),
    ("x86-64-sse41-popcnt", {"sse4_1", "popcnt"}),
    ("x86-64-ssse3", {"ssse3"}),
    ("x86-64-sse3-popcnt", {"sse3", "popcnt"}),
    ("x86-64", set[str]()),
)
"""Architectures and the flags that they need, the best first."""
OTHERS = {
    "riscv64": "riscv64",
    "loongarch64": "loongarch64",
    "ppc64": "ppc-64",
    "ppc64le": "ppc-64",
    "armv7l": "armv7",
    "i686": "x86-32",
    "e2k": "e2k",
}


def architecture(cpu: Cpu, system: str) -> str:
    """Return the architecture, one of those that fishtest knows; `unknown` for anything else."""
    machine = cpu.machine.lower()
    if machine in ("arm64", "aarch64"):
        if system == "macos":
            return "apple-silicon"
        return "armv8-dotprod" if "asimddp" in cpu.flags else "armv8"
    if machine not in ("x86_64", "amd64"):
        return OTHERS.get(machine, "unknown")
    flags = cpu.flags | ({"sse3"} if "pni" in cpu.flags else set())
    return next(name for name, needed in X86_64 if needed <= flags)


# The system that this process runs on. Only this module has calls that differ between systems.

NAMES = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}
CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")
MEMORY = Path("/proc/meminfo")
CPU = Path("/proc/cpuinfo")
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
MIB = 2**20
MODEST = 5
PATIENCE_SECONDS = 10.0


class ThisSystem:
    """See `System`. What can't be determined is estimated conservatively."""

    def __init__(self) -> None:
        self.name = NAMES.get(platform.system(), platform.system().lower())
        self._held: list[IO[bytes]] = []

    def processors(self) -> int:
        return usable_processors()

    def physical_cores(self) -> int:
        if self.name == "macos":
            return _number(_here_said("sysctl", "-n", "hw.physicalcpu")) or self.processors()
        return physical_cores()

    def numa_nodes(self) -> tuple[frozenset[int], ...]:
        return local_nodes()

    def memory_mib(self) -> int:
        sizes = [_linux_memory(), _number(_text(CGROUP_MEMORY)), self._other_memory()]
        return min((size for size in sizes if size), default=1024 * MIB) // MIB

    def _other_memory(self) -> int:
        if self.name == "macos":
            return _number(_here_said("sysctl", "-n", "hw.memsize"))
        return _windows_memory() if self.name == "windows" else 0

    def cpu(self) -> Cpu:
        if self.name == "macos":
            words = _here_said("sysctl", "-n", "machdep.cpu.features", "machdep.cpu.leaf7_features")
            flags = frozenset(words.lower().replace(".", "_").split())
            return Cpu(
                _here_said("sysctl", "-n", "machdep.cpu.brand_string"), flags, platform.machine()
            )
        lines = (line.partition(":") for line in _text(CPU).splitlines())
        found = {name.strip(): value.strip() for name, _, value in lines}
        flags = frozenset((found.get("flags") or found.get("Features") or "").split())
        return Cpu(found.get("model name") or platform.processor(), flags, platform.machine())

    def host_name(self) -> str:
        return socket.gethostname()

    def host_id(self) -> str:
        known = next(filter(None, map(_text, MACHINE_IDS)), "").strip()
        return f"{known or hex(uuid.getnode())} {self.host_name()}"

    def lower_priority(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.nice(MODEST)

    def on_stop(self, loop: asyncio.AbstractEventLoop, ask: Callable[[], None]) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, ask)
            except NotImplementedError:
                # On Windows, signals are not supported by the event loop.
                signal.signal(number, lambda *_: call_soon(loop, ask))

    def lock(self, file: Path) -> bool:
        file.parent.mkdir(parents=True, exist_ok=True)
        held = file.open("ab")
        try:
            _lock(held)
        except OSError:
            held.close()
            return False
        self._held.append(held)
        return True

    def release(self) -> None:
        for held in self._held:
            held.close()
        self._held.clear()

    def replace_process(self, command: list[str]) -> int:
        if self.name != "windows":
            sys.stdout.flush()
            os.execv(command[0], command)  # noqa: S606 - our own program, without a shell
        return subprocess.run(command, check=False).returncode


if sys.platform == "win32":

    def _lock(file: IO[bytes]) -> None:
        import msvcrt

        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:

    def _lock(file: IO[bytes]) -> None:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


class _MemoryStatus(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API; the first two fields are 32 bits, the rest 64."""

    _fields_ = (
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("rest", ctypes.c_uint64 * 6),
    )


def _windows_memory() -> int:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    library = getattr(ctypes, "windll", None)
    if library is None or not library.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return 0
    return int(status.total)


def _linux_memory() -> int:
    for line in _text(MEMORY).splitlines():
        if line.startswith("MemTotal:"):
            return _number(line.split()[1]) * 1024
    return 0


def _text(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def _here_said(*command: str) -> str:
    try:
        asked = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()


def _number(text: str) -> int:
    return int(text) if text.strip().isdecimal() else 0
