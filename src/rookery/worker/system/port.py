"""What a worker asks of the operating system; tests have a system of their own."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor: its name, and the instruction sets it has, in Linux's words."""

    name: str
    flags: frozenset[str]
    machine: str
    """The kind of processor: x86_64, aarch64."""


class System(Protocol):
    """One of `linux`, `macos`, `windows`."""

    name: str

    def processors(self) -> int:
        """Those this process may use: affinity and the container's quota are minded."""
        ...

    def physical_cores(self) -> int: ...

    def numa_nodes(self) -> tuple[frozenset[int], ...]:
        """The processors of each node that this process may use."""
        ...

    def memory_mib(self) -> int:
        """What the machine or its container has."""
        ...

    def cpu(self) -> Cpu: ...

    def host_name(self) -> str: ...

    def host_id(self) -> str:
        """The same after each restart, and on no other machine."""
        ...

    def be_modest(self) -> None:
        """Let whoever sits at the machine go first."""
        ...

    def on_stop(self, loop: asyncio.AbstractEventLoop, ask: Callable[[], None]) -> None:
        """Have `ask` called on the loop at every interrupt and every wish to end."""
        ...

    def lock(self, file: Path) -> bool:
        """Hold a file until this process ends; False when another one holds it."""
        ...

    def release(self) -> None:
        """Let go of all files that are held."""
        ...

    def replace_process(self, command: list[str]) -> int:
        """Go on as another program; where that is impossible, wait for it and give its code."""
        ...
