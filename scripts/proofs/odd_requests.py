"""Odd requests to both HTTP servers, straight and behind each proxy, have one answer each.

Streams of one to four requests, a third of them plain and the others with odd heads, bodies and
bytes, are sent in pieces. A tap before the server keeps what passes, and h11 says which requests
that were. Holds when each request has its own answer, in order, and nothing else comes back: no
answer is missing, none is one too many, none belongs to another request or visitor.
"""

import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from scripts.progress import Progress
from scripts.proof import MOST_FINDINGS, option, read_options
from tests.wire.odd_requests import ROUTES, Count, send_by
from tests.wire.processes import running_server

SERVERS = ("uvicorn", "rookery-asgi")
PORTION = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    streams: int = option(20_000, "how many, for each server and way")
    seconds: float = option(240.0, "how long each way may take")
    seed: int = 1
    servers: tuple[str, ...] = SERVERS
    ways: tuple[str, ...] = ROUTES


def send_many(route: str, place: tuple[str, int], wanted: Wanted, folder: Path) -> Count:
    """Sends streams in portions, until there are enough or the time is over."""
    total, began = Count(), time.monotonic()
    told = Progress(wanted.streams, f"streams, {route}")
    while total.streams < wanted.streams and time.monotonic() - began < wanted.seconds:
        numbers = range(total.streams, min(total.streams + PORTION, wanted.streams))
        total += send_by(route, place, numbers, wanted.seed, folder / f"{route}-{numbers.start}")
        told.tell(total.streams, f"{len(total.faults)} faults")
    return total


def prove(wanted: Wanted, folder: Path) -> int:
    faults = []
    print("| server | way | streams | requests | answers | wrong |\n|---|---|---|---|---|---|")
    for server in wanted.servers:
        near = folder / server
        near.mkdir()
        with running_server(near, settings={"ROOKERY_HTTP": server}) as started:
            for route in wanted.ways:
                count = send_many(route, started.place, wanted, near)
                seen = f"{count.streams:,} | {count.requests:,} | {count.answers:,}"
                print(f"| {server} | {route} | {seen} | {len(count.faults)} |")
                faults += [f"{server}, {route}: {fault}" for fault in count.faults]
    print(
        "\nRequests are those that h11 reads in what arrived before the server; answers are more by"
        f" the refusals of what is no request. Seed {wanted.seed}."
    )
    for fault in faults[:MOST_FINDINGS]:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        return prove(read_options(Wanted, __doc__), Path(folder))


if __name__ == "__main__":
    sys.exit(main())
