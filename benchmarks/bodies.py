"""What large bodies of strangers cost a server: memory, and the time of others.

    PYTHONPATH=src:. python benchmarks/bodies.py [--bodies 10] [--megabytes 262]

Starts a server of its own on in-memory twins, sends so many bodies at once to upload_pgn with
credentials that nobody has, and asks /healthz all the while.
"""

import argparse
import tempfile
import threading
import time
import urllib.request
from functools import partial
from pathlib import Path

from tests.large_bodies import MB, body_start, high_water_mb, run_at_once, send_body
from tests.wire.processes import Server, running_server


def probe(server: Server, over: threading.Event, seconds: list[float]) -> None:
    while not over.is_set():
        began = time.perf_counter()
        urllib.request.urlopen(f"{server.address}/healthz", timeout=60).close()
        seconds.append(time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bodies", type=int, default=10)
    parser.add_argument("--megabytes", type=int, default=262)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, running_server(Path(folder)) as server:
        before, over, seconds = high_water_mb(server.process.pid), threading.Event(), [0.0]
        prober = threading.Thread(target=probe, args=(server, over, seconds))
        prober.start()
        head = body_start("a guess", "nobody")
        began = time.perf_counter()
        one = partial(send_body, server.place, "/api/upload_pgn", head, chosen.megabytes * MB)
        answers = run_at_once([one] * chosen.bodies)
        took = time.perf_counter() - began
        over.set()
        prober.join()
        grown = high_water_mb(server.process.pid) - before
    statuses = sorted({answer.status for answer in answers})
    sent = max(answer.sent for answer in answers) / MB
    print(f"{chosen.bodies} bodies of {chosen.megabytes} MB, answered with {statuses}")
    print(f"all answered after {took:.2f} s, when {sent:.1f} MB at the most had been sent")
    print(f"the server's memory grew by {grown:.0f} MB from {before:.0f} MB")
    print(f"slowest of {len(seconds) - 1} /healthz: {1000 * max(seconds):.0f} ms")


if __name__ == "__main__":
    main()
