"""The three bridges that failed: each runs a coroutine on a loop made for that one call.

They look right, because a pool may be shared by threads. Its connections may not be shared by
loops: their futures and callbacks belong to the loop that opened them.

As a program it opens a pool on the main loop, lets many streams read from it through one of the
bridges while the main loop uses the pool as well, and prints what came of it as JSON. It is run
as a child process because it may well crash.
"""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from rookery.core.boundary.offload import Threads, stream
from tests.acceptance.pools import Pool, open_pool

T = TypeVar("T")
Work = Callable[[], Coroutine[Any, Any, T]]
Bridge = Callable[[Work[object]], object]

STREAMS = 50
EVENTS = 4
PATIENCE_SECONDS = 3.0

_executor = ThreadPoolExecutor(max_workers=4)


def loop_per_call_in_a_shared_executor(work: Work[T]) -> T:
    """What the chat store did: four standing threads, a new loop for every message."""

    def on_a_loop_of_its_own() -> T:
        loop = asyncio.new_event_loop()
        try:
            return loop.run_until_complete(work())
        finally:
            loop.close()

    return _executor.submit(on_a_loop_of_its_own).result()


def run_in_a_fresh_executor(work: Work[T]) -> T:
    """What the retriever did: an executor and a loop for every query."""
    with ThreadPoolExecutor() as pool:
        return pool.submit(lambda: asyncio.run(work())).result()


def run_where_it_stands(work: Work[T]) -> T:
    """What the session service did in a thread without a loop: start one right there."""
    return asyncio.run(work())


BROKEN: dict[str, Bridge] = {
    bridge.__name__: bridge
    for bridge in (
        loop_per_call_in_a_shared_executor,
        run_in_a_fresh_executor,
        run_where_it_stands,
    )
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many streams came to their end, failed, or hung; and what went wrong."""

    completed: int
    failed: int
    hung: int
    errors: list[str]


def events(bridge: Bridge, pool: Pool) -> Iterator[object]:
    """A stream as a blocking library would write it: a query for every event."""
    for _ in range(EVENTS):
        yield bridge(lambda: pool.value("select pg_sleep(0.002)"))


async def run(bridge: Bridge, pool: Pool) -> Outcome:
    """Many streams over the bridge, and the main loop's own queries beside them."""
    threads = Threads()

    async def read() -> None:
        async for _ in stream(lambda: events(bridge, pool), threads):
            pass

    async def ask() -> None:
        while True:
            await pool.value("select 1")

    asking = [asyncio.create_task(ask()) for _ in range(5)]
    streams = [asyncio.create_task(read()) for _ in range(STREAMS)]
    done, hung = await asyncio.wait(streams, timeout=PATIENCE_SECONDS)
    faults = [fault for fault in (task.exception() for task in done) if fault is not None]
    own = [task.exception() for task in asking if task.done()]
    return Outcome(
        completed=len(done) - len(faults),
        failed=len(faults),
        hung=len(hung),
        errors=sorted({f"{type(fault).__name__}: {fault}" for fault in [*faults, *own]}),
    )


async def main(bridge: str, kind: str, dsn: str) -> None:
    pool = await open_pool(kind, dsn)
    outcome = await run(BROKEN[bridge], pool)
    print(json.dumps(asdict(outcome)), flush=True)
    os._exit(0)  # the pool cannot be closed any more, and threads may hang in it for ever


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
