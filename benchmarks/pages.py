"""What people who look cost the machines that play: live pages, reloading browsers, beats.

    PYTHONPATH=src:. python benchmarks/pages.py [--seconds 15] [--live 1000] [--browsers 200]

A server with its database has twenty runs and machines that beat and report all the time. They are
called alone, then while so many start pages are open and are sent what moves on them (a stream
each, and a part in it every two seconds), then while so many browsers load the start page again and
again, and alone once more. Printed are the latency of beats, the ratio of its median to that of the
quiet server in the same run, and the server's processor time. Readers and machines are processes of
their own, on the same cores; the load of the whole machine stands at the end.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

from benchmarks import worker_api
from benchmarks.worker_api import Target

CALLERS = 60
CALLS_A_SECOND = 120
RELOAD_SECONDS = 1.0
WARM_SECONDS = 6.0
LEAST_BYTES = 200
"""Of a part; comments that keep a stream alive are smaller."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--live", type=int, default=1000)
    parser.add_argument("--browsers", type=int, default=200)
    parser.add_argument("--play", choices=("machines", "live", "browsers"), help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play == "machines":
        asyncio.run(beat(options.port, options.seconds))
    elif options.play:
        count = options.live if options.play == "live" else options.browsers
        asyncio.run(look(options.play, options.port, options.seconds, count))
    else:
        asyncio.run(compare(options.seconds, options.live, options.browsers))


async def compare(seconds: float, live: int, browsers: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = worker_api.started("rookery", folder)
        try:
            await worker_api.ready(target)
            heads = f"{'who looks':<26}{'beat p50':>10}{'p99':>10}{'ratio':>7}{'CPU':>7}"
            print(f"{heads}{'fetched/s':>11}{'refused':>9}")
            quiet = await measure(target, seconds, "nobody", "", 0)
            for name, play, count in (
                (f"{live:,} live pages", "live", live),
                (f"{browsers:,} reloading browsers", "browsers", browsers),
            ):
                busy = await measure(target, seconds, name, play, count)
                show(name, busy, quiet)
            show("nobody again", await measure(target, seconds, "", "", 0), quiet)
            print("load {:.1f} {:.1f} {:.1f}".format(*os.getloadavg()))
        finally:
            worker_api.stop(target)


@dataclass(frozen=True, slots=True)
class Phase:
    p50: float
    p99: float
    cpu: float
    """Seconds of the server's processor a second."""
    fetched: float
    """Pages or parts a second."""
    refused: int
    """Calls of machines that were told to try again."""


async def measure(target: Target, seconds: float, name: str, play: str, count: int) -> Phase:
    lookers = None
    if play:
        lookers = start(play, target, seconds + WARM_SECONDS, f"--{play}={count}")
        await asyncio.sleep(WARM_SECONDS)
    machines = start("machines", target, seconds)
    spent, began = target.cpu_seconds(), time.monotonic()
    told = json.loads((await asyncio.to_thread(machines.communicate))[0])
    cpu = (target.cpu_seconds() - spent) / (time.monotonic() - began)
    fetched = 0.0
    if lookers is not None:
        fetched = json.loads((await asyncio.to_thread(lookers.communicate))[0])
    found = Phase(told[0], told[1], cpu, fetched, told[2])
    if name == "nobody":
        show(name, found, found)
    return found


def show(name: str, one: Phase, quiet: Phase) -> None:
    print(
        f"{name:<26}{1e3 * one.p50:>7.2f} ms{1e3 * one.p99:>7.1f} ms{one.p50 / quiet.p50:>7.2f}"
        f"{one.cpu:>7.0%}{one.fetched:>11.0f}{one.refused:>9}",
        flush=True,
    )


def start(play: str, target: Target, seconds: float, *more: str) -> "subprocess.Popen[str]":
    words = [__file__, "--play", play, "--port", str(target.port), "--seconds", str(seconds)]
    return subprocess.Popen([sys.executable, *words, *more], stdout=subprocess.PIPE, text=True)


# The machines


async def beat(port: int, seconds: float) -> None:
    """Beats and reports in turn at a steady rate, and prints how long beats took."""
    worker_api.MACHINES = CALLERS
    target, times, refused = Target(port, 0), list[float](), list[float]()
    machines = await seat_patiently(target)
    beats = worker_api.bodies("beat", machines)
    reports = worker_api.bodies("update_task", machines)
    # Reports end with their task; something has to change all the time.
    requests = worker_api.bodies("request_task", machines)
    deadline = time.monotonic() + seconds

    async def call(number: int) -> None:
        await asyncio.sleep(number / CALLS_A_SECOND)
        line = await asyncio.open_connection("127.0.0.1", port)
        while time.monotonic() < deadline:
            began = time.monotonic()
            try:
                await worker_api.exchange(line, *next(beats))
                times.append(time.monotonic() - began)
                changing = requests if number % 6 == 0 else reports
                await worker_api.exchange(line, *next(changing))
            except ValueError:
                refused.append(began)
            await asyncio.sleep(max(0.0, began + 2 * CALLERS / CALLS_A_SECOND - time.monotonic()))
        line[1].close()

    await asyncio.gather(*(call(number) for number in range(CALLERS)))
    cuts = statistics.quantiles(times, n=100)
    print(json.dumps([cuts[49], cuts[98], len(refused)]))


async def seat_patiently(target: Target) -> list[worker_api.Machine]:
    """What is no JSON means: try again, as it does for workers."""
    while True:
        try:
            return await worker_api.seat(target)
        except ValueError:
            await asyncio.sleep(1.0)


# Those who look


class Looker:
    """A browser's connection, and how often it fetched something."""

    fetched = 0

    async def reload(self, port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while True:
            writer.write(b"GET / HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
            Looker.fetched += head.startswith(b"HTTP/1.1 200")
            await asyncio.sleep(RELOAD_SECONDS)

    async def follow(self, port: int) -> None:
        """Is sent the part whenever it changed, as live.js is: a chunk of some size each time."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            b"GET /live HTTP/1.1\r\nhost: localhost\r\naccept-encoding: gzip\r\n"
            b"accept: text/event-stream\r\n\r\n"
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head)
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
            Looker.fetched += size > LEAST_BYTES


async def look(play: str, port: int, seconds: float, count: int) -> None:
    tasks: list[asyncio.Task[None]] = []
    for _ in range(count):
        looker = Looker()
        work = looker.follow(port) if play == "live" else looker.reload(port)
        tasks.append(asyncio.create_task(work))
        await asyncio.sleep(0.001)
    before, began = Looker.fetched, time.monotonic()
    done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in done:
        task.result()
    print(json.dumps((Looker.fetched - before) / (time.monotonic() - began)))
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    main()
