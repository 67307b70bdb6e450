"""A match distributed over runner processes, so that neither display nor files delay a clock."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Self

from rookery.core.boundary.offload import Threads
from rookery.core.errors import describe_exit
from rookery.match.clock import Latency
from rookery.match.engine_process import finish_despite_cancellation
from rookery.match.game import QueuedMatch
from rookery.match.job import Event, LatencyMeasured, MatchFault, PairEnded, PairJob, Setup
from rookery.match.processors import Shard, local_nodes, plan_shards
from rookery.match.shard import (
    LONGEST_LINE,
    NoMorePairs,
    ShardFailed,
    ShardOrder,
    read_report,
    to_line,
)

COMMAND = (sys.executable, "-m", "rookery.match.shard")
EXIT_SECONDS = 10.0
EXIT_LOOKS = 100
SendJob = Callable[[PairJob | None], None]


class _Runner:
    """One runner process, as the match sees it."""

    def __init__(self, shard: Shard, first_slot: int) -> None:
        self.shard = shard
        self._first_slot = first_slot
        self._output: asyncio.WriteTransport | None = None
        self._input: asyncio.ReadTransport | None = None
        self._starting: asyncio.Task[subprocess.Popen[bytes]] | None = None

    async def start(self, setup: Setup, threads: Threads) -> None:
        self._starting = asyncio.create_task(threads.io(_start))
        self._process = await asyncio.shield(self._starting)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        loop = asyncio.get_running_loop()
        self._reports = asyncio.StreamReader(limit=LONGEST_LINE)
        self._input, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._reports), self._process.stdout
        )
        self._output, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, self._process.stdin)
        order = ShardOrder(setup, self.shard.games, tuple(sorted(self.shard.processors)))
        self._output.write(to_line(order))

    def send_job(self, job: PairJob | None) -> None:
        """Send a pair to a free slot, or the end of pairs."""
        assert self._output is not None
        self._output.write(to_line(NoMorePairs() if job is None else job))

    async def events(self) -> AsyncIterator[Event]:
        ended = False
        while text := await self._reports.readline():
            report = read_report(text)
            if isinstance(report, ShardFailed):
                raise MatchFault(report.why)
            ended = isinstance(report, LatencyMeasured) and report.last
            yield self._renumbered(report)
        if not ended:
            code = await self._exit_code()
            how = "closed its output" if code is None else describe_exit(code)
            raise MatchFault(f"A runner process {how} in the middle of its games.")

    def _renumbered(self, event: Event) -> Event:
        """Return the event with its slot numbered among all those of the match."""
        if not isinstance(event, PairEnded):
            return event
        return PairEnded(replace(event.pair, slot=self._first_slot + event.pair.slot))

    async def _exit_code(self) -> int | None:
        """Return the exit code of the process. Its output ends a moment before it."""
        for _ in range(EXIT_LOOKS):
            if (code := self._process.poll()) is not None:
                return code
            await asyncio.sleep(0.01)
        return None

    async def end(self, threads: Threads) -> None:
        """End the process. It ends when its input is closed, and ends its engines."""
        if self._starting is None:
            return
        process = await self._starting
        for transport in (self._output, self._input):
            if transport is not None:
                transport.close()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            pipe.close()
        try:
            await threads.io(process.wait, EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            await threads.io(process.wait)


class ShardedMatch(QueuedMatch):
    """The same match as `LocalMatch`, played in separate processes."""

    def __init__(
        self,
        jobs: Iterable[PairJob],
        setup: Setup,
        *,
        concurrency: int = 1,
        nodes: Sequence[frozenset[int]] | None = None,
    ) -> None:
        super().__init__()
        self._jobs = iter(jobs)
        self._setup = setup
        self.shards = plan_shards(concurrency, local_nodes() if nodes is None else nodes)
        self._threads = Threads()
        self._latencies: dict[int, Latency] = {}
        self._runners: list[_Runner] = []

    async def _play(self) -> None:
        following: list[asyncio.Task[None]] = []
        try:
            for shard in self.shards:
                runner = _Runner(shard, sum(one.shard.games for one in self._runners))
                self._runners.append(runner)
                await runner.start(self._setup, self._threads)
                following.append(asyncio.create_task(self._follow(runner)))
            await asyncio.gather(*following)
            self._emit(LatencyMeasured(self._latency(), last=True))
        finally:
            await finish_despite_cancellation(self._end(following))

    async def _end(self, following: list[asyncio.Task[None]]) -> None:
        for task in following:
            task.cancel()
        await asyncio.gather(*following, return_exceptions=True)
        await asyncio.gather(*(runner.end(self._threads) for runner in self._runners))

    async def _follow(self, runner: _Runner) -> None:
        for _ in range(runner.shard.games):
            self._send_next(runner.send_job)
        async for event in runner.events():
            if isinstance(event, LatencyMeasured):
                self._latencies[id(runner)] = event.latency
                self._emit(LatencyMeasured(self._latency()))
                continue
            self._emit(event)
            if isinstance(event, PairEnded):
                self._send_next(runner.send_job)

    def _send_next(self, send: SendJob) -> None:
        """Send the next job to a free slot."""
        send(next(self._jobs, None))

    def _latency(self) -> Latency:
        return sum(self._latencies.values(), start=Latency.fresh())


def _start() -> "subprocess.Popen[bytes]":
    """Start a runner in a session of its own, because an interrupt at the keyboard is for the
    match."""
    return subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
    )


# A match in batches: runner processes and engines are kept between batches.


class BatchedMatch(ShardedMatch):
    """A match that is entered once and plays batches one after another, each as a match of its
    own."""

    def __init__(
        self, setup: Setup, *, concurrency: int = 1, nodes: Sequence[frozenset[int]] | None = None
    ) -> None:
        super().__init__((), setup, concurrency=concurrency, nodes=nodes)
        self._waiting: list[SendJob] = []
        self._open = 0
        """The number of pairs that were sent and have not ended."""
        self._leaving = False

    async def __aexit__(self, *_: object) -> None:
        if not self._open:
            self._leaving = True
            self.begin(())
            await asyncio.wait({self._playing}, timeout=EXIT_SECONDS)
        await super().__aexit__()

    def begin(self, jobs: Iterable[PairJob]) -> None:
        """Let all waiting slots play these jobs."""
        self._jobs = iter(jobs)
        waiting, self._waiting = self._waiting, []
        for send in waiting:
            self._send_next(send)

    def is_over(self, event: Event) -> bool:
        """Whether this was the last event of the batch."""
        if not isinstance(event, PairEnded):
            return False
        self._open -= 1
        return self._open == 0

    def _send_next(self, send: SendJob) -> None:
        job = next(self._jobs, None)
        if job is None and not self._leaving:
            self._waiting.append(send)
            return
        self._open += job is not None
        send(job)


class MatchBatch:
    """One batch. If it is left before its end, the whole match must be left."""

    def __init__(self, match: BatchedMatch, jobs: Iterable[PairJob]) -> None:
        self._match = match
        self._jobs = jobs

    async def __aenter__(self) -> Self:
        self._match.begin(self._jobs)
        return self

    async def __aexit__(self, *_: object) -> None:
        """Keep the engines running."""

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with aclosing(aiter(self._match)) as events:
            async for event in events:
                over = self._match.is_over(event)
                yield event
                if over:
                    return
