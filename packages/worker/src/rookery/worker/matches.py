"""The matches of a task: one for fixed games and sequential tests, one for each batch of a tune."""

import asyncio
import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import fmean

from msgspec import UNSET

from rookery.core.boundary.offload import Threads
from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.core.model.task import Results
from rookery.core.protocol.worker_answers import Settings, SpsaAnswer
from rookery.match.fastchess import FastchessMatch
from rookery.match.fastchess_command import (
    FastchessFiles,
    Schedule,
    UnsupportedByFastchess,
    command_line,
    silence_seconds,
)
from rookery.match.job import EngineSpec, Match, Openings, PairJob, Setup, openings_of, pair_jobs
from rookery.match.opening_order import order_of_run, seed_of_run
from rookery.match.sharded import BatchedMatch, MatchBatch, ShardedMatch
from rookery.worker.assignment import Assignment, batch_pairs, match_setup
from rookery.worker.engines.orders import TaskFailed
from rookery.worker.playing import (
    GameCounter,
    MatchContext,
    MatchFollower,
    PairSupply,
    PartialReports,
    TuneCounter,
)
from rookery.worker.preparing import PreparedEngines, WorkerContext
from rookery.worker.reporting import GameFile, ReportQueue, retry_call
from rookery.worker.server import TaskProgress
from rookery.worker.stopping import cancel_and_wait, wait_for_first

# The runner of the games: Rookery's own, or fastchess for another project's server.

BUILTIN = "builtin"
FASTCHESS = "fastchess"


@dataclass(frozen=True, slots=True)
class Runners:
    """Settings for all matches of a task. `fastchess` is its program, or empty."""

    setup: Setup
    slots: int
    nodes: tuple[frozenset[int], ...]
    fastchess: str = ""

    def builtin(self, jobs: Iterator[PairJob]) -> Match:
        return ShardedMatch(jobs, self.setup, concurrency=self.slots, nodes=self.nodes)

    def lasting(self) -> BatchedMatch | None:
        """Return a match that keeps engines running between batches. None with fastchess, which
        starts them for each."""
        if self.fastchess:
            return None
        return BatchedMatch(self.setup, concurrency=self.slots, nodes=self.nodes)

    async def match(
        self,
        jobs: Iterator[PairJob],
        sides: tuple[EngineSpec, EngineSpec],
        files: FastchessFiles,
        pairs: int,
        threads: Threads,
    ) -> Match:
        """Return a match. With fastchess it finds its openings itself. Raise TaskFailed."""
        if not self.fastchess:
            return self.builtin(jobs)
        asked = partial(
            command_line,
            self.fastchess,
            sides,
            self.setup,
            files,
            Schedule(pairs, self.slots),
        )
        try:
            # Resolving links reads the disk.
            return FastchessMatch(await threads.io(asked), silence_seconds(sides))
        except UnsupportedByFastchess as fault:
            raise TaskFailed(f"fastchess cannot play {fault}.") from None


def write_script(spec: EngineSpec, folder: Path) -> EngineSpec:
    """Return the engine as a program without arguments, because fastchess would split these at
    spaces."""
    script = folder / f"{spec.name.partition('-')[0].lower()}.sh"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(spec.command)}\n", encoding="utf-8")
    script.chmod(0o700)
    return replace(spec, command=(str(script),))


# Plays a tune: gets values from the server before each batch and reports the results.

Chance = Callable[[], float]


@dataclass(frozen=True, slots=True)
class SpsaValues:
    """One perturbation: both engines with their options, and the signature by which the server
    identifies it."""

    new: EngineSpec
    base: EngineSpec
    signature: int


@dataclass(frozen=True, slots=True)
class SpsaBatch:
    """The content of one answer to request_spsa."""

    values: tuple[SpsaValues, ...]
    signature: int


def read_spsa_answer(
    answer: SpsaAnswer, new: EngineSpec, base: EngineSpec, chance: Chance
) -> SpsaBatch:
    """Return the engines of a batch. Values for an official worker are rounded here, each up or
    down at random."""
    joint = 0 if answer.sig is UNSET else answer.sig
    if answer.slots is not UNSET:
        parts = [
            SpsaValues(_with(new, slot.w_params, None), _with(base, slot.b_params, None), slot.sig)
            for slot in answer.slots
        ]
        return SpsaBatch(tuple(parts), joint)
    ours = () if answer.w_params is UNSET else answer.w_params
    theirs = () if answer.b_params is UNSET else answer.b_params
    one = SpsaValues(_with(new, ours, chance), _with(base, theirs, chance), joint)
    return SpsaBatch((one,), joint)


def tune_jobs(
    batch: SpsaBatch, openings: Openings, before: Results, first: Results, pairs: int
) -> Iterator[PairJob]:
    """Yield the pairs of a batch, with the openings that follow those of earlier batches."""
    offset = (before.games - first.games) // 2
    for number in range(pairs):
        values = batch.values[number % len(batch.values)]
        yield PairJob(number, openings(offset + number), values.new, values.base)


def _with(spec: EngineSpec, settings: Settings, chance: Chance | None) -> EngineSpec:
    tuned = [(one.name, _written(one.value, chance)) for one in settings]
    return replace(spec, options=(*_without(spec.options, tuned), *tuned))


def _without(
    options: Sequence[tuple[str, str]], tuned: Sequence[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    names = {name for name, _ in tuned}
    return (option for option in options if option[0] not in names)


def _written(value: float, chance: Chance | None) -> str:
    if chance is not None:
        return str(math.floor(value + chance()))
    # Engines do not parse exponents.
    return format(Decimal(format(value + 0.0, ".15g")), "f")


@dataclass(frozen=True, slots=True)
class TaskMatches:
    """Plays the matches of a task once its engines are there."""

    context: WorkerContext
    task: Assignment
    prepared: PreparedEngines
    reports: ReportQueue
    games: GameFile
    lost: asyncio.Event
    note: Callable[[str], object]

    async def play(self) -> bool:
        """Play the whole task, or until the server or the owner stops it. Returns False if the
        server said before a batch that the task is over. Raises TaskFailed or MatchFault."""
        plan = self.task.plan
        depth = plan.book_depth
        book = await self.context.books.load(
            plan.book, plan.book_sri, depth, chess960=plan.plays_chess960
        )
        openings = openings_of(
            book,
            order_of_run(len(book), self.task.name.run, start=self.task.first_opening)
            if book
            else None,
        )
        if self.task.is_tune:
            return await self._tune(openings)
        await self._games(openings, 2 * depth)
        return True

    @property
    def _slots(self) -> int:
        return max(1, self.context.identity.offer.concurrency // self.task.threads)

    @property
    def _batch(self) -> int:
        nps = self.prepared.nps
        return batch_pairs(self.task, self._slots, is_rookery=self.context.is_rookery, nps=nps)

    def _runners(self) -> Runners:
        setup = match_setup(self.task, self.context.syzygy)
        return Runners(
            setup,
            self._slots,
            self.context.nodes,
            "" if self.context.is_rookery else self.context.fastchess,
        )

    def _match_context(self, batch: int, pairs: int, *, whole: bool) -> MatchContext:
        game_seconds = self.prepared.base.time_control.game_seconds(self.prepared.nps)
        return MatchContext(
            task=self.task,
            slots=self._slots,
            batch=batch,
            whole=whole,
            pair_seconds=2 * game_seconds,
            games=self.games,
            identity=self.context.identity,
            report=self.reports.put,
            tell=self.note,
            lost=self.lost,
            stop=self.context.stop,
            threads=self.context.threads,
            watch=self.context.watch,
            limit_seconds=None if self.context.is_rookery else self._limit(pairs),
            parts=PartialReports() if self.context.in_parts else None,
        )

    def _limit(self, pairs: int) -> float:
        """Return the time limit for fastchess. The built-in runner limits every move instead."""
        sides = (self.prepared.new, self.prepared.base)
        limit = fmean(side.time_control.limit_seconds(self.prepared.nps) for side in sides)
        whole = limit * max(8.0, 2 * pairs / self._slots)
        return 2 * whole if self.task.is_tune else whole

    async def _games(self, openings: Openings, plies: int) -> None:
        task, sides = self.task, await self._make_startable(self.prepared.new, self.prepared.base)
        whole = task.batch_size > 0 and not self.context.in_parts
        counter = GameCounter(task.before, self._batch)
        supply = PairSupply(pair_jobs([sides], openings, rounds=task.pairs))
        match = await self._runners().match(
            supply, sides, self._files(plies), task.pairs, self.context.threads
        )
        await MatchFollower(
            self._match_context(self._batch, task.pairs, whole=whole), counter, supply
        ).follow(match)
        # The last batch of fixed games may be smaller than the others; that of a sequential test
        # only if the server accepts parts.
        if not whole and (told := counter.rest()):
            self.reports.put(told)

    async def _make_startable(
        self, new: EngineSpec, base: EngineSpec
    ) -> tuple[EngineSpec, EngineSpec]:
        """Both engines in a form that the runner can start."""
        if not self._runners().fastchess:
            return new, base
        write, folder = self.context.threads.io, self.context.scratch
        return await write(write_script, new, folder), await write(write_script, base, folder)

    def _files(self, plies: int) -> FastchessFiles:
        """Return the files for fastchess, which reads the book and writes the games itself."""
        task = self.task
        book = self.context.books.file(task.plan.book) if plies > 0 else None
        seed = seed_of_run(task.name.run)
        return FastchessFiles(book, plies, seed, task.first_opening, self.games.file)

    async def _tune(self, openings: Openings) -> bool:
        async with self._runners().lasting() or nullcontext() as lasting:
            return await self._batches(openings, lasting)

    async def _batches(self, openings: Openings, lasting: BatchedMatch | None) -> bool:
        total, told = self.task.before, TaskProgress(self.task.before)
        while (left := (self.task.games - total.games) // 2) > 0 and not self._ending:
            pairs = min(self._batch, left)
            answer = await self._values(told, pairs)
            if not answer.task_alive:
                return False
            played = await self._tune_batch(answer, openings, total, pairs, lasting)
            if played.told is None:
                break
            total, told = played.total, played.told
            await self._wait_until_reported()
        return True

    async def _tune_batch(
        self,
        answer: SpsaAnswer,
        openings: Openings,
        total: Results,
        pairs: int,
        lasting: BatchedMatch | None,
    ) -> TuneCounter:
        batch = read_spsa_answer(answer, self.prepared.new, self.prepared.base, self.context.chance)
        signatures = [values.signature for values in batch.values]
        counter = TuneCounter(
            total, pairs, signatures, batch.signature, is_rookery=self.context.is_rookery
        )
        supply = PairSupply(tune_jobs(batch, openings, total, self.task.before, pairs))
        played = (total.games - self.task.before.games) // 2
        match = (
            MatchBatch(lasting, supply)
            if lasting
            else await self._other(batch, supply, played, pairs)
        )
        await MatchFollower(self._match_context(pairs, pairs, whole=True), counter, supply).follow(
            match
        )
        return counter

    async def _other(self, batch: SpsaBatch, supply: PairSupply, played: int, pairs: int) -> Match:
        """Return a match for one batch, whose engines end with it."""
        sides = await self._make_startable(batch.values[0].new, batch.values[0].base)
        files = self._files(2 * self.task.plan.book_depth)
        files = replace(files, start=files.start + played)
        return await self._runners().match(supply, sides, files, pairs, self.context.threads)

    async def _values(self, told: TaskProgress, pairs: int) -> SpsaAnswer:
        context = self.context
        slots = min(self._slots, pairs) if context.is_rookery else 0
        ask = partial(context.server.spsa, context.identity.info, self.task.name, told, slots)
        try:
            return await retry_call(ask, context.patience, context.threads, context.watch)
        except (CallRefused, NoAnswer) as error:
            raise TaskFailed(f"The server gave no values: {error}") from None

    async def _wait_until_reported(self) -> None:
        """Wait until the server has received this batch, since the next values depend on it."""
        waiting = asyncio.create_task(self.reports.idle())
        try:
            await wait_for_first(waiting, self.lost)
        finally:
            await cancel_and_wait(waiting)

    @property
    def _ending(self) -> bool:
        return self.lost.is_set() or self.context.stop.asked.is_set()
