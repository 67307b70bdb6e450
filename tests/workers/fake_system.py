"""A machine that has what a test says."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from rookery.worker.system import Cpu

SKYLAKE = Cpu(
    "Some processor", frozenset({"sse4_1", "popcnt", "avx2", "bmi2", "hypervisor"}), "x86_64"
)


@dataclass
class FakeSystem:
    name: str = "linux"
    cores: int = 8
    usable: int = 16
    memory: int = 32_000
    processor: Cpu = SKYLAKE
    held: set[Path] = field(default_factory=set)
    ask: Callable[[], None] = lambda: None

    def processors(self) -> int:
        return self.usable

    def physical_cores(self) -> int:
        return self.cores

    def numa_nodes(self) -> tuple[frozenset[int], ...]:
        return (frozenset(),)

    def memory_mib(self) -> int:
        return self.memory

    def cpu(self) -> Cpu:
        return self.processor

    def host_name(self) -> str:
        return "fake"

    def host_id(self) -> str:
        return "0123"

    def lower_priority(self) -> None:
        """It is."""

    def on_stop(self, loop: asyncio.AbstractEventLoop, ask: Callable[[], None]) -> None:
        del loop
        self.ask = ask

    def lock(self, file: Path) -> bool:
        if file in self.held:
            return False
        self.held.add(file)
        return True

    def release(self) -> None:
        self.held.clear()

    def replace_process(self, command: list[str]) -> int:
        del command
        return 0
