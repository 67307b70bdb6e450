"""A match spread over runner processes, so that neither display nor files delay a clock."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from rookery.boundary.offload import Threads
from rookery.errors import Complaint, describe_exit
from rookery.match.clock import Latency
from rookery.match.game import QueuedMatch
from rookery.match.job import Event, LatencyMeasured, MatchFault, PairEnded, PairJob, Setup
from rookery.match.shard import (
    LONGEST_LINE,
    Enough,
    Failed,
    Hearing,
    ShardOrder,
    job_message,
    line,
    read_report,
)

# Spreads the games of a match over runner processes.
#
# One process that referees many games is late for all of them. So each NUMA node has its own,
# which keeps its engines on that node's processors, and none referees more than sixteen games.

MOST_GAMES = 16
NODES = Path("/sys/devices/system/node")


@dataclass(frozen=True, slots=True)
class Shard:
    """One runner process: its games at a time, and the processors it and its engines stay on."""

    games: int
    processors: frozenset[int]


def plan_shards(concurrency: int, nodes: Sequence[frozenset[int]]) -> tuple[Shard, ...]:
    """Games by node in proportion to its processors, and by process in equal parts."""
    wanted = min(concurrency, len(nodes)) or 1
    used = sorted(nodes, key=len, reverse=True)[:wanted] or [frozenset()]
    shares = _shares(concurrency, [max(1, len(node)) for node in used])
    return tuple(
        Shard(games, node)
        for node, share in zip(used, shares, strict=True)
        for games in _shares(share, [1] * -(-share // MOST_GAMES))
        if games
    )


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Whole parts of a total, as near to the weights as can be."""
    parts, given, weighed = [], 0, 0
    for weight in weights:
        weighed += weight
        due = total * weighed // sum(weights)
        parts.append(due - given)
        given = due
    return parts


def local_nodes(folder: Path = NODES) -> tuple[frozenset[int], ...]:
    """The processors of each node that this process may use; one node where nothing is known."""
    allowed = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    lists = [path.read_text() for path in sorted(folder.glob("node[0-9]*/cpulist"))]
    nodes = [frozenset(_numbers(text)) for text in lists]
    if allowed is not None:
        nodes = [node & allowed for node in nodes] or [allowed]
    return tuple(node for node in nodes if node) or (allowed or frozenset(),)


def _numbers(text: str) -> list[int]:
    """`0-3,8` as numbers."""
    found: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        found.extend(range(int(first), int(last or first) + 1))
    return found


COMMAND = (sys.executable, "-m", "rookery.match")
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
        order = ShardOrder(setup, self.shard.games, tuple(sorted(self.shard.processors)))
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


class ShardedMatch(QueuedMatch):
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


# A match in batches: runner processes and engines keep their places from one to the next.


class LastingMatch(ShardedMatch):
    """Entered once; then its batches are played one after the other, each a match of its own."""

    def __init__(
        self, setup: Setup, *, concurrency: int = 1, nodes: Sequence[frozenset[int]] | None = None
    ) -> None:
        super().__init__((), setup, concurrency=concurrency, nodes=nodes)
        self._waiting: list[Give] = []
        self._open = 0
        """Pairs that were given out and have not ended."""
        self._leaving = False

    async def __aexit__(self, *_: object) -> None:
        if not self._open:
            self._leaving = True
            self.begin(())
            await asyncio.wait({self._playing}, timeout=FAREWELL_SECONDS)
        await super().__aexit__()

    def begin(self, jobs: Iterable[PairJob]) -> None:
        """Let these be played by all who wait for something to do."""
        self._jobs = iter(jobs)
        waiting, self._waiting = self._waiting, []
        for give in waiting:
            self._serve(give)

    def is_over(self, event: Event) -> bool:
        """Whether this was the last event of the batch."""
        if not isinstance(event, PairEnded):
            return False
        self._open -= 1
        return self._open == 0

    def _serve(self, give: Give) -> None:
        job = next(self._jobs, None)
        if job is None and not self._leaving:
            self._waiting.append(give)
            return
        self._open += job is not None
        give(job)


class MatchBatch:
    """One batch. Whoever leaves it before its end must leave the whole match."""

    def __init__(self, match: LastingMatch, jobs: Iterable[PairJob]) -> None:
        self._match = match
        self._jobs = jobs

    async def __aenter__(self) -> Self:
        self._match.begin(self._jobs)
        return self

    async def __aexit__(self, *_: object) -> None:
        """The engines stay."""

    async def __aiter__(self) -> AsyncIterator[Event]:
        async with aclosing(aiter(self._match)) as events:
            async for event in events:
                over = self._match.is_over(event)
                yield event
                if over:
                    return


# How many games this machine can play at a time, and the small expressions that say it.

PROCESSORS = Path("/sys/devices/system/cpu")
QUOTA = Path("/sys/fs/cgroup/cpu.max")
_EXPRESSION = re.compile(r"(MAX|PHYS|\d{1,5})(?:([-/*])(\d{1,4}))?", re.ASCII)


class BadConcurrency(Complaint):
    """A number of games at a time that makes no sense."""

    exit_code = 2

    def __init__(self, text: str) -> None:
        super().__init__(f"{text!r} is no number of games: write 4, MAX, PHYS-1 or MAX/2.")


def usable_processors(quota: Path = QUOTA) -> int:
    """What affinity and the container's quota leave."""
    affinity = getattr(os, "sched_getaffinity", None)
    count = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        allowed, period = quota.read_text().split()
    except (OSError, ValueError):
        return count
    return count if allowed == "max" else max(1, min(count, int(allowed) // int(period)))


def physical_cores(folder: Path = PROCESSORS) -> int:
    """Cores that share no silicon with one another; as many as processors where nobody knows."""
    siblings = {path.read_text() for path in folder.glob("cpu[0-9]*/topology/thread_siblings_list")}
    usable = usable_processors()
    return min(len(siblings), usable) or usable


def default_concurrency(threads: int) -> int:
    """All physical cores but one, which the runner and the rest of the system have."""
    return max(1, (physical_cores() - 1) // threads)


def read_concurrency(text: str) -> int:
    """A number, or an expression of MAX (processors) and PHYS (cores); raises BadConcurrency."""
    found = _EXPRESSION.fullmatch(text.strip().upper())
    if not found:
        raise BadConcurrency(text)
    word, sign, number = found.groups()
    value = {"MAX": usable_processors, "PHYS": physical_cores}.get(word, lambda: int(word))()
    if sign:
        by = int(number)
        value = {"-": value - by, "*": value * by, "/": value // max(by, 1)}[sign]
    if not 1 <= value <= 4096:
        raise BadConcurrency(text)
    return value
