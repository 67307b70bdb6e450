"""What makes this machine's programs its own: system, processor and name."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True, slots=True)
class Identity:
    """Two machines of equal identity can run each other's programs."""

    system: str
    processor: str
    flags: str
    host: str


def identity() -> Identity:
    """Reads files, so that it belongs into a thread."""
    system = f"{platform.system()} {'-'.join(platform.libc_ver())}"
    return Identity(system, platform.machine(), _flags(), platform.node())


def _flags(cpu_info: Path = CPU_INFO) -> str:
    try:
        lines = cpu_info.read_text().splitlines()
    except OSError:
        return platform.processor()
    words = ("flags", "Features", "model name", "CPU part")
    return "\n".join(dict.fromkeys(line for line in lines if line.startswith(words)))


def memory_mib() -> int:
    """All of the machine's; 0 where nobody tells."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    except (AttributeError, ValueError, OSError):
        return 0
