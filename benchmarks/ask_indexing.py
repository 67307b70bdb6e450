"""Whether indexing holds up the farm: latencies of workers' calls while 10,000 commits are indexed.

    PYTHONPATH=src:. python benchmarks/ask_indexing.py [--commits 10000] [--rate 100]

A server with its database runs in a process of its own. Beats and updates come at a fixed rate,
whether the ones before were answered or not: first for a while with nothing to index, then while
commits are indexed that were written into its database, then with nothing again. The ratio of the
second to the mean of the others depends on the machine's other load least.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.worker_api import Target, bodies, exchange, ready, seat, started, stop
from rookery.server.ask.corpus import KnownCommit
from rookery.server.ask.history import HistoryRows
from rookery.server.ask.indexing import CorpusRows
from rookery.server.db import access
from rookery.server.db.pool import Pool, Queries, open_pool

LINES = 32
WORDS = 8_000
MESSAGE_WORDS = 90
QUIET_SECONDS = 30.0
BATCH = 200


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=100.0, help="calls of each kind a second")
    options = parser.parse_args()
    asyncio.run(compare(options.commits, options.rate))
    return 0


@dataclass(slots=True)
class Latencies:
    """Milliseconds, in the order of the answers."""

    found: list[float] = field(default_factory=list)

    def at(self, share: float) -> float:
        return sorted(self.found)[int(share * (len(self.found) - 1))]

    def share_over(self, milliseconds: float) -> float:
        """Of all answers, those that took longer, in per cent."""
        return 100 * sum(each > milliseconds for each in self.found) / len(self.found)


Calls = Iterator[tuple[str, bytes]]
Phase = dict[str, Latencies]


class OpenLoop:
    """Calls at a fixed rate over some connections; a late answer makes the next calls no later."""

    def __init__(self, target: Target, rate: float) -> None:
        self._target = target
        self._rate = rate

    async def measure(self, calls: dict[str, Calls], is_over: Callable[[], bool]) -> Phase:
        found = {name: Latencies() for name in calls}
        work = (self._call(each, calls[each], found[each], is_over) for each in calls)
        await asyncio.gather(*work)
        return found

    async def _call(
        self, name: str, calls: Calls, found: Latencies, is_over: Callable[[], bool]
    ) -> None:
        lines: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        for _ in range(LINES):
            lines.put_nowait(await asyncio.open_connection("127.0.0.1", self._target.port))
        under_way: set[asyncio.Task[None]] = set()
        due = time.monotonic()
        while not is_over():
            due += random.expovariate(self._rate)
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            task = asyncio.create_task(_one(lines, next(calls), due, found), name=name)
            under_way.add(task)
            task.add_done_callback(under_way.discard)
        await asyncio.gather(*under_way)
        while not lines.empty():
            lines.get_nowait()[1].close()


async def _one(
    lines: "asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]",
    call: tuple[str, bytes],
    due: float,
    found: Latencies,
) -> None:
    line = await lines.get()
    await exchange(line, *call)
    found.found.append(1000 * (time.monotonic() - due))
    lines.put_nowait(line)


def make_commits(count: int) -> Iterator[KnownCommit]:
    """Messages of words that are as frequent as those of a language."""
    chance = random.Random(1)
    words = [f"{chance.choice('bdfgklmnprst')}{number:x}o" for number in range(WORDS)]
    weights = [1 / (place + 2) for place in range(WORDS)]
    for number in range(count):
        said = chance.choices(words, weights, k=MESSAGE_WORDS)
        yield KnownCommit(
            engine="Stockfish",
            hash=f"{number:040x}",
            repository="https://example.org/engine",
            author="bench",
            at=datetime(2026, 1, 1, tzinfo=UTC),
            message=f"{' '.join(said[:8])}\n\n{' '.join(said[8:])}\n\nBench: {number}",
        )


async def store_commits(rows: HistoryRows, count: int) -> None:
    commits = list(make_commits(count))
    for first in range(0, count, BATCH):
        await rows.add_commits(commits[first : first + BATCH])


@asynccontextmanager
async def database_of(folder: Path) -> AsyncIterator[tuple[Pool, Queries]]:
    queries = Queries.load()
    async with (
        access.open_target(folder, None, alone=False) as target,
        open_pool(target, instance="bench", size=2) as pool,
    ):
        yield pool, queries


class Indexing:
    """Follows the index from outside, and notes when it began and ended."""

    def __init__(self, rows: CorpusRows) -> None:
        self._rows = rows
        self.began = self.ended = 0.0
        self.begins = asyncio.Event()

    async def follow(self, count: int) -> None:
        while (left := (await self._rows.lag()).documents) > 0:
            if not self.began and left < count:
                self.began = time.monotonic()
                self.begins.set()
            await asyncio.sleep(0.2)
        self.ended = time.monotonic()


async def compare(count: int, rate: float) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = started("rookery", folder)
        try:
            await ready(target)
            machines = await seat(target)
            calls = {"beat": bodies("beat", machines), "update_task": bodies("update", machines)}
            async with database_of(Path(folder) / "data") as (pool, queries):
                histories, corpus = HistoryRows(pool, queries), CorpusRows(pool, queries)
                await measure(OpenLoop(target, rate), calls, histories, corpus, count)
        finally:
            stop(target)


async def measure(
    loop: OpenLoop, calls: dict[str, Calls], histories: HistoryRows, corpus: CorpusRows, count: int
) -> None:
    def after(seconds: float) -> Callable[[], bool]:
        end = time.monotonic() + seconds
        return lambda: time.monotonic() > end

    await loop.measure(calls, after(5.0))
    first = await loop.measure(calls, after(QUIET_SECONDS))
    await store_commits(histories, count)
    indexing = Indexing(corpus)
    following = asyncio.create_task(indexing.follow(count))
    await indexing.begins.wait()
    busy = await loop.measure(calls, following.done)
    await following
    last = await loop.measure(calls, after(QUIET_SECONDS))
    seconds = indexing.ended - indexing.began
    print(f"{count:,} commits indexed in {seconds:.0f} s ({count / seconds:.0f} a second)")
    show(first, busy, last)


def show(first: Phase, busy: Phase, last: Phase) -> None:
    print(f"{'call':<14}{'':<6}{'quiet ms':>10}{'indexing ms':>13}{'quiet ms':>10}{'ratio':>8}")
    for name, during in busy.items():
        for share in (0.5, 0.99):
            before, while_, after = (each.at(share) for each in (first[name], during, last[name]))
            ratio = while_ / ((before + after) / 2)
            print(
                f"{name:<14}p{100 * share:<5.0f}{before:>10.1f}{while_:>13.1f}{after:>10.1f}"
                f"{ratio:>8.2f}"
            )
        over = [each[name].share_over(1000) for each in (first, busy, last)]
        print(f"{name:<14}>1 s %{over[0]:>10.2f}{over[1]:>13.2f}{over[2]:>10.2f}")


if __name__ == "__main__":
    sys.exit(main())
