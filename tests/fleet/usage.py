"""Measures what a server and its PostgreSQL use: processor, memory, descriptors."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.process_table import parent_of, pids

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage at one moment, with processor seconds since the processes began."""

    server_cpu: float
    postgres_cpu: float
    server_mib: float
    postgres_mib: float
    descriptors: int
    load: float
    """The load of the whole machine in the last minute, including other processes."""


def read_usage(server: int, postmaster: int) -> Usage:
    postgres = [postmaster, *(pid for pid in pids() if parent_of(pid) == postmaster)]
    return Usage(
        _cpu(server),
        # Ended backends are included in the postmaster's figures.
        sum(map(_cpu, postgres)) + _cpu(postmaster, of_dead=True),
        _memory((server,)),
        _memory(postgres),
        sum(1 for _ in Path(f"/proc/{server}/fd").iterdir()),
        os.getloadavg()[0],
    )


def _cpu(pid: int, *, of_dead: bool = False) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    first = 13 if of_dead else 11
    return (int(fields[first]) + int(fields[first + 1])) / TICKS


def _memory(every: Iterable[int]) -> float:
    """Memory in MiB; shared memory is divided among its users."""
    kib = 0
    for pid in every:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024
