"""Looks the machine over once, before the worker says anything about it."""

import platform
import re
import sys
from pathlib import Path

from rookery.worker.session.identity import Facts
from rookery.worker.system import System
from rookery.worker.system.architecture import architecture
from rookery.worker.system.tools import COMPILERS, triple, versions

MOST_INSTANCES = 1000
INSTRUCTION_SETS = re.compile(
    r"(sse|ssse|avx|bmi|popcnt|fma|f16c|pni|abm|lzcnt|adx|gfni|vaes|sha|asimd|neon|sve|i8mm|dot)"
)
"""Of some hundred flags, those that programs are built for."""


def survey(system: System) -> Facts:
    """Starts compilers to ask for their versions, so that it belongs into a thread."""
    cpu, tools = system.cpu(), versions()
    compiler = next((name for name in COMPILERS if name in tools), COMPILERS[0])
    return Facts(
        system=system.name,
        uname=f"{platform.system()} {platform.release()}",
        linkage=platform.architecture(),
        python=sys.version_info[:3],
        cpu=cpu.name,
        flags=tuple(sorted(filter(INSTRUCTION_SETS.match, cpu.flags))),
        arch=architecture(cpu, system.name),
        physical_cores=system.physical_cores(),
        numa=len(system.numa_nodes()),
        tools=tools,
        compiler=compiler,
        compiler_version=triple(tools.get(compiler, "")),
        host=system.host_name()[:100],
    )


def instance_of(system: System, folder: Path) -> int:
    """Which of the workers that share this folder on this machine it is, from 0."""
    for number in range(MOST_INSTANCES):
        if system.lock(folder / f"{system.host_name()}-{number}.lock"):
            return number
    return MOST_INSTANCES
