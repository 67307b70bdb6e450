"""What a server and its PostgreSQL take of the machine: processor, memory, descriptors."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.process_table import parent_of, pids

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Usage:
    """At one moment; seconds of processor since the process began."""

    server_cpu: float
    postgres_cpu: float
    server_mib: float
    postgres_mib: float
    descriptors: int
    load: float
    """Of the whole machine, others' work included: the mean of the last minute."""


def read_usage(server: int, postmaster: int) -> Usage:
    postgres = [postmaster, *(pid for pid in pids() if parent_of(pid) == postmaster)]
    return Usage(
        _cpu(server),
        # Whoever ended is in the postmaster's own figures.
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
    """In MiB; what several share is shared out among them."""
    kib = 0
    for pid in every:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        kib += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return kib / 1024
