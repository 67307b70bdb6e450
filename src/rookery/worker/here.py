"""The system this process runs on: the one module with calls that differ between systems."""

import asyncio
import contextlib
import ctypes
import os
import platform
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO

from rookery.boundary.bridge import call_soon
from rookery.match.processors import local_nodes, physical_cores, usable_processors
from rookery.worker.system import Cpu

NAMES = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}
CGROUP_MEMORY = Path("/sys/fs/cgroup/memory.max")
MEMORY = Path("/proc/meminfo")
CPU = Path("/proc/cpuinfo")
MACHINE_IDS = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
MIB = 2**20
MODEST = 5
PATIENCE_SECONDS = 10.0


class ThisSystem:
    """See `System`. What can't be found out is guessed on the safe side."""

    def __init__(self) -> None:
        self.name = NAMES.get(platform.system(), platform.system().lower())
        self._held: list[IO[bytes]] = []

    def processors(self) -> int:
        return usable_processors()

    def physical_cores(self) -> int:
        if self.name == "macos":
            return _number(_said("sysctl", "-n", "hw.physicalcpu")) or self.processors()
        return physical_cores()

    def numa_nodes(self) -> tuple[frozenset[int], ...]:
        return local_nodes()

    def memory_mib(self) -> int:
        sizes = [_linux_memory(), _number(_text(CGROUP_MEMORY)), self._other_memory()]
        return min((size for size in sizes if size), default=1024 * MIB) // MIB

    def _other_memory(self) -> int:
        if self.name == "macos":
            return _number(_said("sysctl", "-n", "hw.memsize"))
        return _windows_memory() if self.name == "windows" else 0

    def cpu(self) -> Cpu:
        if self.name == "macos":
            words = _said("sysctl", "-n", "machdep.cpu.features", "machdep.cpu.leaf7_features")
            flags = frozenset(words.lower().replace(".", "_").split())
            return Cpu(_said("sysctl", "-n", "machdep.cpu.brand_string"), flags, platform.machine())
        lines = (line.partition(":") for line in _text(CPU).splitlines())
        found = {name.strip(): value.strip() for name, _, value in lines}
        flags = frozenset((found.get("flags") or found.get("Features") or "").split())
        return Cpu(found.get("model name") or platform.processor(), flags, platform.machine())

    def host_name(self) -> str:
        return socket.gethostname()

    def host_id(self) -> str:
        known = next(filter(None, map(_text, MACHINE_IDS)), "").strip()
        return f"{known or hex(uuid.getnode())} {self.host_name()}"

    def be_modest(self) -> None:
        with contextlib.suppress(AttributeError, OSError):
            os.nice(MODEST)

    def on_stop(self, loop: asyncio.AbstractEventLoop, ask: Callable[[], None]) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                loop.add_signal_handler(number, ask)
            except NotImplementedError:
                # Windows knows signals only outside of its loop.
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


def _said(*command: str) -> str:
    try:
        asked = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip()


def _number(text: str) -> int:
    return int(text) if text.strip().isdecimal() else 0
