"""What makes this machine's programs its own: system, processor and name."""

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
