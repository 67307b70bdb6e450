"""Floods of bytes that cost their sender little, and the memory of the server that gets them.

Each flood goes to `rookery serve` over twenty connections, each replaced as soon as it ends, and
nobody reads an answer. Holds when the server then needs no more memory than after a tenth of that
time, never much more in between, answers all the time, and writes little into its log.
"""

import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from scripts.proof import option, read_options
from tests.rookery_process import RookeryProcess, run_rookery
from tests.wire.floods import FLOODS, Flood, Spent, flood, own_mib, settled_mib

SERVERS = ("uvicorn", "rookery-asgi")
MOST_GROWTH_MIB = 80
MOST_PEAK_MIB = 150
"""Above the memory before. Garbage is collected once a server has grown by 64 MiB."""
MOST_LOG_RATE = 20_000
"""In bytes a second: fifty lines of a kind in ten seconds, of a few kinds."""
LOOK_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Wanted:
    seconds: float = option(600.0, "how long each flood lasts")
    servers: tuple[str, ...] = SERVERS
    floods: tuple[str, ...] = tuple(each.name for each in FLOODS)


@dataclass(frozen=True, slots=True)
class Seen:
    """What one flood has cost the server."""

    spent: Spent
    before: float
    peak: float
    after: float
    slowest: float
    log_rate: float

    @property
    def faults(self) -> list[str]:
        found = {
            f"{self.after - self.before:.0f} MiB more after it": self.after - self.before
            > MOST_GROWTH_MIB,
            f"{self.peak - self.before:.0f} MiB more during it": self.peak - self.before
            > MOST_PEAK_MIB,
            f"{self.log_rate:.0f} bytes of log a second": self.log_rate > MOST_LOG_RATE,
        }
        return [words for words, is_so in found.items() if is_so]


class Watch:
    """Looks at a server during a flood: its most memory, and its slowest answer."""

    def __init__(self, server: RookeryProcess) -> None:
        self.peak = self.slowest = 0.0
        self._server = server
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(LOOK_SECONDS):
            began = time.monotonic()
            assert self._server.get("/healthz")[0] == 200
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.peak = max(self.peak, own_mib(self._server.process.pid))


def try_flood(server: RookeryProcess, what: Flood, seconds: float) -> Seen:
    parts, pid = urlsplit(server.address), server.process.pid
    place = str(parts.hostname), int(parts.port or 0)

    def answers() -> object:
        return server.get("/healthz")

    flood(place, what, seconds / 10)
    before, logged = settled_mib(pid, answers), server.logged_bytes()
    with Watch(server) as watch:
        spent = flood(place, what, seconds)
    after = settled_mib(pid, answers, tries=100)
    rate = (server.logged_bytes() - logged) / seconds
    return Seen(spent, before, watch.peak, after, watch.slowest, rate)


def try_server(name: str, wanted: Wanted, folder: Path) -> list[str]:
    faults, settings = [], {"ROOKERY_HTTP": name}
    chosen = [each for each in FLOODS if each.name in wanted.floods]
    with run_rookery(folder / name, "serve", detect=False, settings=settings) as server:
        server.until("ready")
        for what in chosen:
            seen = try_flood(server, what, wanted.seconds)
            memory = f"{seen.before:.1f} | {seen.peak:.1f} | {seen.after:.1f}"
            sent = f"{seen.spent.connections:,} | {seen.spent.sent / 1e6:,.1f}"
            rest = f"{seen.slowest:.2f} | {seen.log_rate:,.0f}"
            print(f"| {name} | {what.name} | {sent} | {memory} | {rest} |", flush=True)
            faults += [f"{name}, {what.name}: {words}" for words in seen.faults]
        failed = [one for one in server.events() if one["event"] == "request_failed"]
    return faults + [f"{name}: requests failed: {failed[0]}" for _ in failed[:1]]


def main() -> int:
    wanted = read_options(Wanted, __doc__)
    heads = "connections", "MB sent", "MiB before", "most", "after", "slowest answer s", "log B/s"
    print(f"| server | flood | {' | '.join(heads)} |\n|{'---|' * (len(heads) + 2)}")
    with tempfile.TemporaryDirectory() as folder:
        faults = [
            each for name in wanted.servers for each in try_server(name, wanted, Path(folder))
        ]
    print(f"\n{wanted.seconds:.0f} s for each flood.")
    for fault in faults:
        print(f"does not hold: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
