"""How late the loop is while threads compute and wait, and how long /healthz takes meanwhile.

    python benchmarks/boundary.py                    the real app in a process of its own
    python benchmarks/boundary.py --url http://...   a server that runs elsewhere

Three processes on this machine: the server, the load, and this one, which asks for /healthz.
The app is Rookery's own with two routes more, one that renders a page many times in `cpu` and
one that holds a thread of `io`. A server elsewhere renders its front page instead, tells no lag
and is not asked to hold threads. The exit code is 1 when under any load a single /healthz answer
takes 100 ms or more. The control column is the lag of the asking process,
which runs none of our code: what the machine does to anybody in the same seconds.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tests.places import IMPORTED

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

LIMIT_SECONDS = 0.1
RENDER, HOLD, LAG = "/slow/render/40", "/slow/hold/2", "/bench/lag"
# Clients arrive one after the other over this time: what is measured is the work, not a stampede.
ARRIVAL_SECONDS = 2.0
WARM_UP = ARRIVAL_SECONDS + 1.0


@dataclass(frozen=True, slots=True)
class Scenario:
    """So many clients, each of which asks for the path again as soon as it has an answer."""

    name: str
    clients: int
    path: str


SCENARIOS = (
    Scenario("idle", 0, RENDER),
    Scenario("2 rendering", 2, RENDER),
    Scenario("8 rendering", 8, RENDER),
    Scenario("64 rendering", 64, RENDER),
    Scenario("500 holding threads", 500, HOLD),
)


@dataclass(frozen=True, slots=True)
class Lag:
    """What the server tells of itself since it was last asked."""

    lags: list[float]
    cpu_seconds: float


class Connection:
    """A keep-alive connection that speaks just enough HTTP."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def get(self, path: str) -> bytes:
        self._writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        head = await self._reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise OSError(f"{path}: {head[:60]!r}")
        lengths = [line for line in head.lower().split(b"\r\n") if b"content-length" in line]
        return await self._reader.readexactly(int(lengths[0].partition(b":")[2]))


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[Connection]:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port or 80)
    try:
        yield Connection(reader, writer)
    finally:
        writer.close()


def serve() -> int:
    """The server process: the real app with the routes of this benchmark."""
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    from rookery.server.boundary.domains import Domain, runs
    from rookery.server.carriers.on_uvicorn import make_backend
    from rookery.server.carriers.server import serve as serve_app
    from rookery.server.carriers.serving import ListenAddress
    from tests.twins.sites import make_site, open_app
    from tests.wire.slow_routes import slow_routes

    lags: list[float] = []

    @runs(Domain.LOOP, "hands over a list")
    async def lag(_request: Request) -> Response:
        told = Lag(lags[:], time.process_time())
        lags.clear()
        return JSONResponse(asdict(told))

    async def run() -> int:
        feeling = asyncio.create_task(feel_the_lag(lags))
        place = ListenAddress("127.0.0.1", 0)
        code = await serve_app(
            open_app(site, [*slow_routes(), Route(LAG, lag)]),
            site.process,
            place,
            make_backend(),
            say=lambda at: print(at, flush=True),
        )
        feeling.cancel()
        return code

    site = make_site()
    with asyncio.Runner(loop_factory=make_backend().new_loop) as runner:
        return runner.run(run())


async def load(url: str, path: str, clients: int, seconds: float) -> int:
    """The load process: how many answers the clients got in the time."""
    end = time.perf_counter() + seconds

    async def client(number: int) -> int:
        answers = 0
        await asyncio.sleep(ARRIVAL_SECONDS * number / clients)
        async with connected(url) as connection:
            while time.perf_counter() < end:
                await connection.get(path)
                answers += 1
        return answers

    return sum(await asyncio.gather(*map(client, range(clients))))


async def feel_the_lag(lags: list[float]) -> None:
    """How late the running loop wakes from a short sleep, for as long as it is let."""
    while True:
        due = time.perf_counter() + 0.005
        await asyncio.sleep(0.005)
        lags.append(max(0.0, time.perf_counter() - due))


async def probe(url: str, seconds: float) -> tuple[list[float], list[float]]:
    """The time of each /healthz answer, fifty a second, and the lag of this process itself.

    This process has nothing else to do: its own lag is what the machine does to anybody.
    """
    times: list[float] = []
    own: list[float] = []
    feeling = asyncio.create_task(feel_the_lag(own))
    end = time.perf_counter() + seconds
    async with connected(url) as connection:
        while time.perf_counter() < end:
            asked = time.perf_counter()
            await connection.get("/healthz")
            times.append(time.perf_counter() - asked)
            await asyncio.sleep(0.02)
    feeling.cancel()
    return times, own


@contextmanager
def child(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, __file__, *arguments],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": IMPORTED},
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def measure(url: str, scenario: Scenario, seconds: float, tells_lag: bool) -> float:
    """One line of the table; the slowest answer of /healthz in seconds."""
    arguments = ("load", url, scenario.path, str(scenario.clients), str(seconds + WARM_UP))
    with child(*arguments) as loading:
        time.sleep(WARM_UP - 0.3)
        before = ask_lag(url) if tells_lag else Lag([0.0], 0.0)
        times, own = asyncio.run(probe(url, seconds))
        after = ask_lag(url) if tells_lag else before
        answers = int(loading.communicate()[0])
    share = seconds / (seconds + WARM_UP)
    cpu = (after.cpu_seconds - before.cpu_seconds) / max(1, answers * share or len(times))
    lag = three(after.lags) if tells_lag else "-"
    print(
        f"{scenario.name:<20}  {lag:>24}  {three(times):>24}  {three(own):>24}"
        f"  {answers / (seconds + WARM_UP):>9.0f}  {cpu * 1000:>13.2f}",
        flush=True,
    )
    return max(times)


def ask_lag(url: str) -> Lag:
    async def ask() -> Lag:
        async with connected(url) as connection:
            return Lag(**json.loads(await connection.get(LAG)))

    return asyncio.run(ask())


def three(times: list[float]) -> str:
    """Median, slowest hundredth and maximum in milliseconds."""
    return " / ".join(f"{quantile(times, q) * 1000:.1f}" for q in (0.5, 0.99, 1.0))


def quantile(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def run_all(url: str, seconds: float, *, ours: bool) -> int:
    print(
        f"{'load':<20}  {'loop lag p50/p99/max ms':>24}  {'/healthz p50/p99/max ms':>24}"
        f"  {'control lag, same':>24}"
        f"  {'answers/s':>9}  {'CPU ms/answer':>13}"
    )
    chosen = [one if ours else Scenario(one.name, one.clients, "/") for one in SCENARIOS]
    slowest = [
        measure(url, one, seconds, ours) for one in chosen if ours or "holding" not in one.name
    ]
    holds = max(slowest) < LIMIT_SECONDS
    print(
        f"every /healthz answer under {LIMIT_SECONDS * 1000:.0f} ms: {'yes' if holds else 'NO'},"
        f" slowest {max(slowest) * 1000:.0f} ms, idle {slowest[0] * 1000:.0f} ms"
    )
    return 0 if holds else 1


def main() -> int:
    if sys.argv[1:2] == ["serve"]:
        return serve()
    if sys.argv[1:2] == ["load"]:
        url, path, clients, seconds = sys.argv[2:]
        print(asyncio.run(load(url, path, int(clients), float(seconds))))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--url", help="measure this server instead of starting one")
    parser.add_argument("--seconds", type=float, default=8.0, help="for each line")
    asked = parser.parse_args()
    if asked.url:
        return run_all(asked.url, asked.seconds, ours=False)
    with child("serve") as server:
        assert server.stdout is not None
        return run_all(server.stdout.readline().strip(), asked.seconds, ours=True)


if __name__ == "__main__":
    sys.exit(main())
