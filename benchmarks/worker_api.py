"""What the calls of workers cost: processor time of the server per call, beside a floor.

    PYTHONPATH=src:. python benchmarks/worker_api.py [--seconds 3] [--connections 32] [--rounds 3]

Two servers run in processes of their own: Rookery with its database, and a floor (`floor.py`)
whose reports and requests for tasks are as durable, in the same PostgreSQL. Both are called in turn
over connections that are kept, and the medians of the rounds are printed. Rates depend on the other
load of the machine; the processor time per call and its ratio to the floor depend on it least. The
time of PostgreSQL's own processes is not counted.
"""

import argparse
import asyncio
import json
import os
import secrets
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

PASSWORD = "correct horse battery staple"
USER = "bench"
RUNS = 20
MACHINES = 500
BATCH = 32


def main() -> int:
    options = _options()
    if options.serve == "floor":
        return serve_floor(options.port, Path(options.data))
    if options.serve == "rookery":
        return serve_rookery(options.port, Path(options.data))
    asyncio.run(compare(options.seconds, options.connections, options.rounds))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--serve", choices=("floor", "rookery"))
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data", default="")
    return parser.parse_args()


# The servers


def serve_floor(port: int, data: Path) -> int:
    import uvloop

    from benchmarks.floor import serve

    uvloop.run(serve(port, data))
    return 0


def serve_rookery(port: int, data: Path) -> int:
    from rookery.server.app.build import new_process, open_app
    from rookery.server.app.run import collect_rarely
    from rookery.server.carriers.server import choose_backend, serve
    from rookery.server.carriers.serving import ListenAddress
    from rookery.server.logs import logger, start_logs
    from rookery.server.settings import Settings

    settings = Settings(data=data, port=port, log_level="error", simulated_fleet=True)
    writer = start_logs(level="error")
    process = new_process(settings, logger())
    backend = choose_backend(os.environ.get("ROOKERY_HTTP", "uvicorn"), logger())

    async def run() -> int:
        opening = open_app(settings, process, furnish)
        place = ListenAddress("127.0.0.1", port)
        return await serve(opening, process, place, backend, say=lambda _: collect_rarely())

    try:
        with asyncio.Runner(loop_factory=backend.new_loop) as runner:
            return runner.run(run())
    finally:
        writer.stop()


async def furnish(site: "Site") -> None:  # type: ignore[name-defined]  # noqa: F821 - imported late
    """A user and some approved runs."""
    from rookery.core.model.engine import STANDARD
    from rookery.core.model.kinds import SprtTest
    from rookery.core.model.plan import Plan, Side
    from rookery.core.model.run import create
    from rookery.core.stats.sprt import Sprt
    from rookery.server.identity.passwords import Passwords
    from rookery.server.identity.users import User

    now = site.clock.now()
    hashed = await Passwords(site.threads, site.clock, secrets.token_bytes(32)).hash(PASSWORD)
    await site.users.add(User(USER, "b@example.org", hashed, frozenset(), False, False, 10**6, now))
    for number in range(RUNS):
        new, base = (Side(tag, "0" * 40, signature="123456") for tag in (f"new{number}", "base"))
        plan = Plan((new, base), 10**8, "10+0.1", USER, "UHO.epd", book_sri="x" * 64)
        run = create(
            f"{number:024x}", plan, SprtTest(Sprt(0, 2, batch_size=BATCH // 2)), STANDARD, now
        )
        await site.fleet.commands.submit(run, approver="boss")


# The callers


@dataclass(frozen=True, slots=True)
class Target:
    port: int
    pid: int

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Machine:
    number: int
    ids: bytes = b""
    batches: int = 0
    limit: int = 0

    @property
    def head(self) -> bytes:
        key = f"{self.number:08x}-0e3f-4a55-9c1d-6b7f8e9a0b1c"
        info = {
            "uname": "Linux 6.8.0", "architecture": ["64bit", "ELF"], "concurrency": 32,
            "max_memory": 64000, "min_threads": 1, "username": USER, "version": 325,
            "python_version": [3, 12, 3], "gcc_version": [13, 2, 0], "compiler": "g++",
            "unique_key": key, "modified": False, "worker_arch": "x86-64-bmi2",
            "ARCH": "64bit BMI2", "nps": 700000.0, "near_github_api_limit": False,
        }  # fmt: skip
        return json.dumps({"password": PASSWORD, "worker_info": info}).encode()[:-1]


class Callers:
    """A closed loop: each connection sends its next call when the last one was answered."""

    def __init__(self, target: Target, connections: int) -> None:
        self._target = target
        self._connections = connections
        self.calls = 0

    async def call_for(self, seconds: float, bodies: Iterator[tuple[str, bytes]]) -> None:
        end = time.monotonic() + seconds
        await asyncio.gather(*(self._one(end, bodies) for _ in range(self._connections)))

    async def _one(self, end: float, bodies: Iterator[tuple[str, bytes]]) -> None:
        line = await asyncio.open_connection("127.0.0.1", self._target.port)
        while time.monotonic() < end:
            await exchange(line, *next(bodies))
            self.calls += 1
        line[1].close()


async def exchange(
    line: tuple[asyncio.StreamReader, asyncio.StreamWriter], path: str, body: bytes
) -> dict[str, object]:
    reader, writer = line
    writer.write(
        b"POST %b HTTP/1.1\r\nhost: localhost\r\nuser-agent: python-requests/2.32\r\n"
        b"accept-encoding: gzip, deflate\r\naccept: */*\r\nconnection: keep-alive\r\n"
        b"content-type: application/json\r\nx-forwarded-for: 10.0.0.7\r\n"
        b"content-length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
    )
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    answer: dict[str, object] = json.loads(await reader.readexactly(length))
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


async def seat(target: Target) -> list[Machine]:
    """Machines with a task each."""
    line = await asyncio.open_connection("127.0.0.1", target.port)
    version = json.dumps({"worker_info": {"username": USER}, "password": PASSWORD}).encode()
    await exchange(line, "/api/request_version", version)
    machines = [Machine(number) for number in range(MACHINES)]
    for machine in machines:
        answer = await exchange(line, "/api/request_task", machine.head + b"}")
        run, task = answer["run"], answer["task_id"]
        assert isinstance(run, dict)
        machine.ids = b',"run_id":"%b","task_id":%d' % (str(run["_id"]).encode(), int(str(task)))
        machine.limit = run["my_task"]["num_games"] // BATCH - 1
    line[1].close()
    return machines


def bodies(what: str, machines: list[Machine]) -> Iterator[tuple[str, bytes]]:
    heads = [machine.head for machine in machines]
    version = json.dumps({"worker_info": {"username": USER}, "password": PASSWORD}).encode()
    while True:
        for head, machine in zip(heads, machines, strict=True):
            if what == "request_version":
                yield "/api/request_version", version
            elif what == "request_task":
                yield "/api/request_task", head + b"}"
            elif what == "beat":
                yield "/api/beat", head + machine.ids + b"}"
            else:
                machine.batches = min(machine.batches + 1, machine.limit)
                yield "/api/update_task", head + machine.ids + _stats(machine.batches) + b"}"


def _stats(batches: int) -> bytes:
    quarter = BATCH // 4 * batches
    stats = {
        "wins": quarter, "losses": quarter, "draws": 2 * quarter, "crashes": 0, "time_losses": 0,
        "pentanomial": [0, quarter, 0, quarter, 0],
    }  # fmt: skip
    return b',"stats":' + json.dumps(stats).encode()


async def compare(seconds: float, connections: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rookery = started("rookery", folder)
        await ready(rookery)
        floor = started("floor", folder)
        try:
            await ready(floor)
            await report(floor, rookery, seconds, connections, rounds)
        finally:
            stop(floor)
            stop(rookery)


def stop(target: Target) -> None:
    os.kill(target.pid, signal.SIGTERM)
    os.waitpid(target.pid, 0)


async def report(
    floor: Target, rookery: Target, seconds: float, connections: int, rounds: int
) -> None:
    print("| call | calls/s | CPU µs | floor µs | ratio |\n|---|---|---|---|---|")
    for what in ("request_version", "beat", "update_task", "request_task"):
        pairs: list[tuple[Cost, Cost]] = []
        for _ in range(rounds):
            machines = await seat(rookery)
            cost = await measured(rookery, what, machines, seconds, connections)
            pairs.append((cost, await measured(floor, what, machines, seconds, connections)))
        rate, cost_, least, ratio = (
            statistics.median(values)
            for values in zip(
                *((a.rate, a.micros, b.micros, a.micros / b.micros) for a, b in pairs), strict=True
            )
        )
        print(f"| {what} | {rate:.0f} | {cost_:.0f} | {least:.0f} | {ratio:.1f} |", flush=True)


@dataclass(frozen=True, slots=True)
class Cost:
    rate: float
    micros: float


async def measured(
    target: Target, what: str, machines: list[Machine], seconds: float, lines: int
) -> Cost:
    callers = Callers(target, lines)
    cpu, began = target.cpu_seconds(), time.monotonic()
    own = [replace(machine) for machine in machines]
    await callers.call_for(seconds, bodies(what, own))
    spent, passed = target.cpu_seconds() - cpu, time.monotonic() - began
    return Cost(callers.calls / passed, 1e6 * spent / callers.calls)


def started(which: str, folder: str) -> Target:
    port = _free_port()
    words = [sys.executable, __file__, "--serve", which, "--port", str(port)]
    process = subprocess.Popen([*words, "--data", f"{folder}/data"])
    return Target(port, process.pid)


async def ready(target: Target) -> None:
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", target.port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            return
    raise TimeoutError("the server does not come up")


def _free_port() -> int:
    import socket

    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port: int = place.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
