"""Observes a crowd on a stage once a minute, and makes tables of the observations."""

import asyncio
import gc
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tests.fleet.arrivals import Arrivals
from tests.fleet.audit import Audit
from tests.fleet.crowd import CheapWorker, Crowd
from tests.fleet.figures import (
    ENDPOINTS,
    LATENESS,
    MOST_LAG_SECONDS,
    Figures,
    Minute,
    percentile,
)
from tests.fleet.stage import Stage
from tests.fleet.usage import Usage

ALONE_CALLS = 2_000
ALONE_RATE = 200.0
SAMPLED = 10
"""One of how many calls is used for figures while the generator is active."""
FIRST_EVERY_SECONDS = 30.0
"""How often new processes of PostgreSQL get priority."""


@dataclass(frozen=True, slots=True)
class Look:
    """An observation at the end of a minute."""

    workers: int
    usage: Usage
    generator_cpu: float


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time: of one call in milliseconds, or of a period in seconds."""

    server: float
    postgres: float


@dataclass(slots=True)
class Watch:
    """The observations of a load, from its first worker to its last call."""

    stage: Stage
    crowd: Crowd
    minute_seconds: float = 60.0
    looks: list[Look] = field(default_factory=list)
    workers: list[CheapWorker] = field(default_factory=list)
    seconds: float = 0.0
    figures: Figures = field(init=False)

    def __post_init__(self) -> None:
        self.figures = self.crowd.figures

    async def begin(self, arrivals: Arrivals) -> None:
        """Makes the first observation, and schedules all arrivals."""
        self.workers = await self.stage.workers(arrivals.workers)
        stop_collecting()
        await self._look()
        now = self.figures.began = time.monotonic()
        for worker, moment in zip(self.workers, arrivals.moments(), strict=True):
            self.crowd.arrive(worker, now + moment)
        self.crowd.start()

    async def last(self, minutes: int) -> None:
        """Observes for some minutes more."""
        for _ in range(minutes):
            moment = self.figures.began + len(self.looks) * self.minute_seconds
            while (left := moment - time.monotonic()) > 0:
                await asyncio.to_thread(self.stage.raise_priority)
                await asyncio.sleep(min(left, FIRST_EVERY_SECONDS))
            await self._look()
            row = minute_row(self, len(self.looks) - 1, one_in=SAMPLED)
            print(row, file=sys.stderr, flush=True)

    async def end(self) -> None:
        await self.crowd.stop()
        # The kept lines were idle for longer than the server keeps them open.
        self.stage.campaign.fleet.lines.close()
        self.seconds = time.monotonic() - self.figures.began

    async def _look(self) -> None:
        usage = await asyncio.to_thread(self.stage.usage)
        self.looks.append(Look(self.crowd.at_work, usage, time.process_time()))

    def spent(self, first: int, last: int) -> tuple[float, float, float]:
        """The shares of a core between two observations: server, PostgreSQL, generator."""
        then, now = self.looks[first], self.looks[last]
        seconds = (last - first) * self.minute_seconds
        return (
            (now.usage.server_cpu - then.usage.server_cpu) / seconds,
            (now.usage.postgres_cpu - then.usage.postgres_cpu) / seconds,
            (now.generator_cpu - then.generator_cpu) / seconds,
        )

    async def costs(self, rate: float = ALONE_RATE, calls: int = ALONE_CALLS) -> dict[str, Cost]:
        """The cost of each endpoint, called alone at a steady rate by workers with a task, after
        the load. Reports come last, because they end half of the tasks."""
        found = {}
        self.crowd.figures = Figures()
        playing = [worker for worker in self.workers if worker.is_playing][:calls]
        for endpoint in sorted(ENDPOINTS, key=lambda name: name == "update_task"):
            found[endpoint] = await self._cost(playing, endpoint, rate)
        return found

    async def _cost(self, workers: Sequence[CheapWorker], endpoint: str, rate: float) -> Cost:
        """The cost of an endpoint, without what both use when idle, averaged over the same time
        before and after: PostgreSQL writes checkpoints and cleans up from time to time."""
        seconds = len(workers) / rate
        before = await self._idle(seconds)
        began = await asyncio.to_thread(self.stage.usage)
        took = await self.crowd.call_only(workers, endpoint, rate)
        ended = await asyncio.to_thread(self.stage.usage)
        after = await self._idle(seconds)
        each, idle = 1000 / max(1, len(workers)), took / seconds / 2
        server = ended.server_cpu - began.server_cpu - idle * (before.server + after.server)
        postgres = ended.postgres_cpu - began.postgres_cpu
        postgres -= idle * (before.postgres + after.postgres)
        return Cost(each * server, each * postgres)

    async def _idle(self, seconds: float) -> Cost:
        """The processor seconds that both use without any calls."""
        began = await asyncio.to_thread(self.stage.usage)
        await asyncio.sleep(seconds)
        ended = await asyncio.to_thread(self.stage.usage)
        return Cost(ended.server_cpu - began.server_cpu, ended.postgres_cpu - began.postgres_cpu)


def stop_collecting() -> None:
    """Freezes objects, because garbage collection would traverse those of a hundred thousand
    workers repeatedly."""
    gc.freeze()
    gc.disable()


MINUTE_HEAD = (
    "| minute | workers | calls/s | beat p99 | update p99 | version p99 | task p99 | max ms"
    " | server CPU | PostgreSQL | generator | server MiB | PostgreSQL | descriptors | load"
    " | lag p99 ms |"
)


def minute_row(watch: Watch, number: int, *, one_in: int = 1) -> str:
    """The row between two observations; `number` is that of the later one, from 1."""
    minute, look = watch.figures.minutes[number - 1], watch.looks[number]
    p99 = [
        f"{1000 * watch.figures.of(endpoint, [minute], one_in=one_in).p99:.1f}"
        for endpoint in ("beat", "update_task", "request_version", "request_task")
    ]
    late = percentile(sorted(minute.lags[::one_in]), LATENESS)
    usage, lag = look.usage, f"{1000 * late:.1f}" + (" void" if late > MOST_LAG_SECONDS else "")
    shares = [f"{share:.0%}" for share in watch.spent(number - 1, number)]
    cells = [
        str(number),
        f"{look.workers:,}",
        f"{minute.calls / watch.minute_seconds:.0f}",
        *p99,
        f"{1000 * longest(minute):.0f}",
        *shares,
        f"{usage.server_mib:.0f}",
        f"{usage.postgres_mib:.0f}",
        f"{usage.descriptors:,}",
        f"{usage.load:.1f}",
        lag,
    ]
    return f"| {' | '.join(cells)} |"


def longest(minute: Minute) -> float:
    return max((max(times) for times in minute.times.values() if times), default=0.0)


def minute_table(watch: Watch) -> Iterator[str]:
    yield MINUTE_HEAD
    yield "|---" * (MINUTE_HEAD.count("|") - 1) + "|"
    for number in range(1, len(watch.looks)):
        yield minute_row(watch, number)


def cost_table(costs: dict[str, Cost], rate: float = ALONE_RATE) -> Iterator[str]:
    yield f"| called alone, {rate:.0f} a second | server CPU, ms a call | PostgreSQL, ms a call |"
    yield "|---|---|---|"
    for endpoint, cost in costs.items():
        # A negative cost is due to PostgreSQL's own work, not to the call.
        postgres = f"{cost.postgres:.3f}" if cost.postgres > 0 else "lost in the noise"
        yield f"| {endpoint} | {cost.server:.3f} | {postgres} |"


def ending(crowd: Crowd, audit: Audit) -> Iterator[str]:
    """Lines with the result of the audit, and an example of each kind of failed answer."""
    ledger = crowd.ledger
    yield (
        f"{len(ledger.entries):,} tasks given, {audit.tasks:,} in the rows;"
        f" {ledger.acknowledged_games():,} games acknowledged, {audit.games:,} in the rows;"
        f" {audit.replayed:,} reports of sequential tests counted again in their order;"
        f" disagreements: {len(audit.wrong)}."
    )
    yield from audit.wrong[:20]
    for (endpoint, status), body in crowd.samples.items():
        yield f"{endpoint} {status}: {body.decode(errors='replace').strip()}"


def say(lines: Iterable[str]) -> None:
    print("\n".join(lines), end="\n\n", flush=True)
