"""What forwarding costs: processor time of secondary and primary for a worker's call through one.

    PYTHONPATH=src:. python benchmarks/forwarding.py [--seconds 3] [--connections 32]

Two servers on one PostgreSQL, each a process of its own on uvicorn. The same calls go to the
primary itself and to the secondary; of several rounds the least is shown, since other load of the
machine only adds. The time of PostgreSQL's own processes is not counted.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.worker_api import Callers, Machine, Target, bodies, furnish, ready, seat, stop
from tests.database import running

CALLS = ("request_version", "beat", "update_task", "request_task")
ROUNDS = 6


def main() -> int:
    options = _options()
    if options.serve:
        return serve_instance(options.port, Path(options.data), options.database, options.serve)
    with tempfile.TemporaryDirectory() as folder, running(Path(folder) / "postgres") as database:
        asyncio.run(compare(folder, database.dsn, options.seconds, options.connections))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--serve", choices=("primary", "secondary"))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data", default="")
    parser.add_argument("--database", default="")
    return parser.parse_args()


def serve_instance(port: int, data: Path, database: str, role: str) -> int:
    from rookery.server.app.build import prepare_nothing
    from rookery.server.app.run import run_site
    from rookery.server.settings import Settings

    settings = Settings(
        data=data,
        port=port,
        database_url=database,
        log_level="error",
        simulated_fleet=True,
        front_end=False,
        books_repository="",
    )
    return run_site(settings, furnish if role == "primary" else prepare_nothing)


async def compare(folder: str, database: str, seconds: float, connections: int) -> None:
    primary = started("primary", folder, database)
    await ready(primary)
    secondary = started("secondary", folder, database)
    try:
        await ready(secondary)
        await report(primary, secondary, seconds, connections)
    finally:
        stop(secondary)
        stop(primary)


def started(role: str, folder: str, database: str) -> Target:
    from benchmarks.worker_api import _free_port

    port = _free_port()
    words = [sys.executable, __file__, "--serve", role, "--port", str(port)]
    words += ["--data", f"{folder}/{role}", "--database", database]
    return Target(port, subprocess.Popen(words, env=dict(os.environ)).pid)


@dataclass(frozen=True, slots=True)
class SharedCost:
    """Calls a second, and milliseconds of processor time per call in each process."""

    rate: float
    primary: float
    secondary: float


async def report(primary: Target, secondary: Target, seconds: float, connections: int) -> None:
    head = ("call", "to the", "calls/s", "primary ms", "secondary ms")
    print("{:<18}{:<12}{:>9}{:>12}{:>14}".format(*head))
    for what in CALLS:
        machines = await seat(primary)
        for word, target in (("primary", primary), ("secondary", secondary)):
            rounds = [
                await spend(target, what, machines, seconds, connections, (primary, secondary))
                for _ in range(ROUNDS)
            ]
            cost = min(rounds[1:], key=lambda each: each.primary + each.secondary)
            print(
                f"{what:<18}{word:<12}{cost.rate:>9.0f}{cost.primary:>12.3f}"
                f"{cost.secondary:>14.3f}",
                flush=True,
            )


async def spend(
    target: Target,
    what: str,
    machines: list[Machine],
    seconds: float,
    connections: int,
    both: tuple[Target, Target],
) -> SharedCost:
    callers = Callers(target, connections)
    before, began = [each.cpu_seconds() for each in both], time.monotonic()
    await callers.call_for(seconds, bodies(what, [replace(machine) for machine in machines]))
    passed = time.monotonic() - began
    spent = [
        1000 * (each.cpu_seconds() - was) / callers.calls
        for each, was in zip(both, before, strict=True)
    ]
    return SharedCost(callers.calls / passed, *spent)


if __name__ == "__main__":
    sys.exit(main())
