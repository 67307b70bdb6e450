"""What streams of events cost: memory and processor time of a server with many of them.

    PYTHONPATH=src:. python benchmarks/events.py [--streams 1000] [--changes 40]

A server on its own database is followed by so many readers of one run while the run changes once
a quarter of a second; then some of the readers stop reading. Printed are the server's memory per
open stream, its processor time per event and reader, and how often an event was encoded.
"""

import argparse
import asyncio
import http.client
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from rookery.core.client.client import Client
from rookery.core.model.plan import Modification
from tests.commands import add_user, run_command
from tests.rookery_process import RookeryProcess, run_rookery
from tests.submissions import SPRT, body

PAUSE_SECONDS = 0.3
CALLS = 'rookery_threads_calls_total{name="cpu"}'


class Reader:
    """Counts what it reads."""

    def __init__(self) -> None:
        self.events = 0
        self.paused = asyncio.Event()
        self.paused.set()

    async def read(self, host: str, port: int, path: str) -> None:
        incoming, outgoing = await asyncio.open_connection(host, port)
        outgoing.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
        try:
            while line := await incoming.readline():
                self.events += line == b"event: run\n"
                await self.paused.wait()
        finally:
            outgoing.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--changes", type=int, default=40)
    parser.add_argument("--probe", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.probe:
        probe(options.probe, options.changes * PAUSE_SECONDS)
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        run_rookery(Path(folder) / "data", detect=False) as it,
    ):
        it.until("ready")
        add_user("boris", it.data, "--approver")
        made = run_command("token", "create", "--user", "boris", data=it.data)
        client = Client.at(it.address, made.stdout.splitlines()[-1])
        run_id = client.submit(body(sprt=SPRT)).id
        asyncio.run(measure(it, client, run_id, options.streams, options.changes))


async def measure(
    it: RookeryProcess, client: Client, run_id: str, streams: int, changes: int
) -> None:
    place = urlsplit(it.address)
    host, port = str(place.hostname), int(place.port or 0)
    path = f"/api/v1/events?run={run_id}"
    readers = [Reader() for _ in range(streams)]
    before = memory(it)
    tasks = [asyncio.create_task(reader.read(host, port, path)) for reader in readers]
    await until(readers, 1)
    print(f"{streams} streams open: {(memory(it) - before) / streams:.1f} kB each")
    for name, some in (("all read", readers), ("half do not read", readers[::2])):
        for reader in set(readers) - set(some):
            reader.paused.clear()
        await changed(it, client, run_id, some, changes, name)
    print(f"in the end: {(memory(it) - before) / streams:.1f} kB each")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def changed(
    it: RookeryProcess, client: Client, run_id: str, readers: list[Reader], changes: int, name: str
) -> None:
    encoded, spent, seen = calls(it), seconds(it), sum(reader.events for reader in readers)
    asking = probing(it, changes)
    for number in range(changes):
        wish = Modification(priority=number % 7 - 3)
        await asyncio.to_thread(client.modify, run_id, wish)
        await asyncio.sleep(PAUSE_SECONDS)
    told = sum(reader.events for reader in readers) - seen
    cost = 1e6 * (seconds(it) - spent) / max(1, told)
    print(
        f"{name}: {changes} changes, {told} events read, {calls(it) - encoded} calls in threads"
        f" that compute, {cost:.0f} us of the server per event and reader;"
        f" meanwhile another caller waited {asking.communicate()[0].strip()}"
    )


def probing(it: RookeryProcess, changes: int) -> "subprocess.Popen[str]":
    """Another process, because this one is busy with reading."""
    words = [__file__, "--probe", it.address, "--changes", str(changes)]
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, text=True)


def probe(address: str, lasting: float) -> None:
    place, times = urlsplit(address), list[float]()
    connection = http.client.HTTPConnection(str(place.hostname), place.port)
    deadline = time.monotonic() + lasting
    while (started := time.monotonic()) < deadline:
        connection.request("GET", "/healthz")
        connection.getresponse().read()
        times.append(time.monotonic() - started)
        time.sleep(0.005)
    cuts = statistics.quantiles(times, n=100)
    print(f"{1e3 * cuts[49]:.1f} ms (p50), {1e3 * cuts[98]:.1f} ms (p99)")


async def until(readers: list[Reader], events: int) -> None:
    deadline = time.monotonic() + 60
    while min(reader.events for reader in readers) < events:
        assert time.monotonic() < deadline, "the readers were not told"
        await asyncio.sleep(0.05)


def memory(it: RookeryProcess) -> int:
    """Of the server process, in kB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{it.process.pid}/status").read_text())
    return int(found.group(1)) if found else 0


def seconds(it: RookeryProcess) -> float:
    fields = Path(f"/proc/{it.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def calls(it: RookeryProcess) -> int:
    return int(figure(it, CALLS))


def figure(it: RookeryProcess, name: str) -> float:
    _, text = it.get("/metrics")
    (line,) = [line for line in text.splitlines() if line.startswith(name)]
    return float(line.split()[-1])


if __name__ == "__main__":
    main()
