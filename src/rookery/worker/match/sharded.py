"""A match spread over runner processes, so that neither display nor files delay a clock."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from rookery.boundary.offload import Threads
from rookery.core.complaint import describe_exit
from rookery.worker.match.events import Event, LatencyMeasured, PairEnded
from rookery.worker.match.faults import MatchFault
from rookery.worker.match.feed import FedMatch
from rookery.worker.match.job import PairJob, Setup
from rookery.worker.match.latency import Latency
from rookery.worker.match.sharding import Shard, nodes_here, plan_shards
from rookery.worker.match.wire import (
    LONGEST_LINE,
    Enough,
    Failed,
    Hearing,
    Order,
    job_message,
    line,
    read_report,
)

COMMAND = (sys.executable, "-m", "rookery.worker.match")
FAREWELL_SECONDS = 10.0
EXIT_LOOKS = 100
Give = Callable[[PairJob | None], None]


class ShardLost(MatchFault):
    """A runner process ended in the middle of its games."""

    def __init__(self, code: int | None) -> None:
        how = "closed its output" if code is None else describe_exit(code)
        super().__init__(f"A runner process {how} in the middle of its games.")


class _Runner:
    """One runner process, seen from the match."""

    def __init__(self, shard: Shard, first_slot: int) -> None:
        self.shard = shard
        self._hearing = Hearing(first_slot)
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
        order = Order(setup, self.shard.games, tuple(sorted(self.shard.processors)))
        self._output.write(line(order))

    def give(self, job: PairJob | None) -> None:
        """Something to play at a free slot, or nothing more."""
        assert self._output is not None
        self._output.write(line(Enough() if job is None else job_message(job)))

    async def events(self) -> AsyncIterator[Event]:
        ended = False
        while text := await self._reports.readline():
            report = read_report(text)
            if isinstance(report, Failed):
                raise MatchFault(report.why)
            event = self._hearing.event(report)
            ended = isinstance(event, LatencyMeasured) and event.last
            yield event
        if not ended:
            raise ShardLost(await self._exit_code())

    async def _exit_code(self) -> int | None:
        """Its output ends a moment before the process does."""
        for _ in range(EXIT_LOOKS):
            if (code := self._process.poll()) is not None:
                return code
            await asyncio.sleep(0.01)
        return None

    async def end(self, threads: Threads) -> None:
        """It leaves when its input ends, and takes its engines with it."""
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
            await threads.io(process.wait, FAREWELL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            await threads.io(process.wait)


class ShardedMatch(FedMatch):
    """The same match as `LocalMatch`, refereed by processes of their own."""

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
        self.shards = plan_shards(concurrency, nodes_here() if nodes is None else nodes)
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
            self._tell(LatencyMeasured(self._latency(), last=True))
        finally:
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
            await asyncio.gather(*(runner.end(self._threads) for runner in self._runners))

    async def _follow(self, runner: _Runner) -> None:
        for _ in range(runner.shard.games):
            self._serve(runner.give)
        async for event in runner.events():
            if isinstance(event, LatencyMeasured):
                self._latencies[id(runner)] = event.latency
                self._tell(LatencyMeasured(self._latency()))
                continue
            self._tell(event)
            if isinstance(event, PairEnded):
                self._serve(runner.give)

    def _serve(self, give: Give) -> None:
        """A place is free."""
        give(next(self._jobs, None))

    def _latency(self) -> Latency:
        return sum(self._latencies.values(), start=Latency.fresh())


def _start() -> "subprocess.Popen[bytes]":
    """In a session of its own: an interrupt at the keyboard is the match's to handle."""
    return subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
    )
