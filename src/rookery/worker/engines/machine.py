"""What makes this machine's programs its own: system, processor and name."""

import platform
from dataclasses import dataclass

from rookery.worker.system.architecture import X86_64, architecture
from rookery.worker.system.here import ThisSystem


@dataclass(frozen=True, slots=True)
class Identity:
    """Two machines of equal identity can run each other's programs."""

    system: str
    processor: str
    flags: str
    host: str


def identity() -> Identity:
    """Reads files, so that it belongs into a thread."""
    here = ThisSystem()
    cpu = here.cpu()
    system = f"{here.name} {'-'.join(platform.libc_ver())}"
    return Identity(system, cpu.machine, f"{cpu.name} {sorted(cpu.flags)}", here.host_id())


def memory_mib() -> int:
    """What the machine or its container has."""
    return ThisSystem().memory_mib()


def best_architecture(makefile: str) -> str:
    """The best of those that a Makefile in Stockfish's way knows, where it can't tell itself."""
    here = ThisSystem()
    cpu = here.cpu()
    best = architecture(cpu, here.name)
    if best in makefile:
        return best
    fitting = (name for name, needed in X86_64 if needed <= cpu.flags and name in makefile)
    return next(fitting, best)
