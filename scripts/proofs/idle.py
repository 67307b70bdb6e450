"""An idle server: CPU, memory, descriptors and threads over ten minutes, and the database alive.

Watches `rookery serve` with its supervisor and PostgreSQL, with nobody asking anything. Holds when
all of it together uses less than one per cent of a core, nothing grows, and it still answers.
"""

import argparse
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from tests.process_table import processes_of
from tests.rookery_process import RookeryProcess, run_rookery

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MOST_CPU = 0.01
MOST_GROWTH = 1.05


@dataclass(frozen=True, slots=True)
class Reading:
    """What all processes together have used so far, and what they hold now."""

    cpu_seconds: float
    memory_mib: float
    descriptors: int
    threads: int
    processes: int


def read(pids: set[int]) -> Reading:
    cpu = memory = 0.0
    descriptors = threads = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        cpu += (int(fields[11]) + int(fields[12])) / TICKS
        threads += int(fields[17])
        memory += own_mib(pid)
        descriptors += len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return Reading(cpu, memory, descriptors, threads, len(pids))


def own_mib(pid: int) -> float:
    """The memory that the process itself has written, without pages of files and libraries."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:")) / 1024


def family(server: int, data: Path) -> set[int]:
    """The server and all its processes on the folder."""
    return {server, *processes_of(data)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--settle", type=float, default=30.0, help="seconds before the first look")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        run_rookery(Path(folder) / "data", "serve", detect=False) as server,
    ):
        server.until("ready")
        time.sleep(given.settle)
        return watch(server.process.pid, server.data, given.minutes, server)


def watch(pid: int, data: Path, minutes: float, server: RookeryProcess) -> int:
    first = last = read(family(pid, data))
    began = time.monotonic()
    print("| minute | CPU | memory MiB | descriptors | threads | processes |")
    print("|---|---|---|---|---|---|")
    steps = 10
    told = Progress(steps, "readings")
    for step in range(1, steps + 1):
        time.sleep(max(0.0, began + step * minutes * 60 / steps - time.monotonic()))
        last = read(family(pid, data))
        share = (last.cpu_seconds - first.cpu_seconds) / (time.monotonic() - began)
        print(
            f"| {step * minutes / steps:.1f} | {share:.2%} | {last.memory_mib:.1f}"
            f" | {last.descriptors} | {last.threads} | {last.processes} |"
        )
        told.tell(step)
    ready = server.get("/readyz")[0] == 200
    grown = last.memory_mib / first.memory_mib
    print(f"\nCPU {share:.2%} of a core, memory x{grown:.3f}, ready: {ready}")
    return 0 if share < MOST_CPU and grown < MOST_GROWTH and ready else 1


if __name__ == "__main__":
    sys.exit(main())
