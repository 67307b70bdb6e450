"""Plays games between engines, however they behave: one game, a slot of games, a match on one
loop."""

import abc
import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from time import monotonic, perf_counter, thread_time
from typing import Self

from rookery.core.boundary.offload import Threads
from rookery.match.clock import Latency, SideClock, go_line, measure_lag
from rookery.match.engine_process import finish_despite_cancellation
from rookery.match.job import (
    EngineFault,
    EngineGone,
    EngineSilent,
    EngineSpec,
    Event,
    GameEnded,
    GameResult,
    GameStarted,
    LatencyMeasured,
    PairEnded,
    PairJob,
    PairResult,
    PlayedMove,
    Setup,
    Termination,
)
from rookery.match.openings import Opening
from rookery.match.position import IllegalMove, position_after
from rookery.match.referee import (
    GameEnd,
    Referee,
    TablebaseProbe,
    colour_name,
    make_probe,
    open_tables,
    won_by,
)
from rookery.match.uci import EngineMove, UciEngine

LONGEST_PV = 60
"""How many moves of a variation are checked."""


@dataclass(frozen=True, slots=True)
class RunnerContext:
    """What all games of a runner share: the setup, tablebases, and the runner's latency."""

    setup: Setup
    latency: Latency
    probe: TablebaseProbe | None = None


class RunningGame:
    """One game in progress. It is used once."""

    def __init__(
        self, white: UciEngine, black: UciEngine, opening: Opening, context: RunnerContext
    ) -> None:
        self._context = context
        self._engines = (black, white)
        self._opening = opening
        margin = context.setup.margin_ms
        self._clocks = (
            SideClock(black.spec.time_control, margin),
            SideClock(white.spec.time_control, margin),
        )
        self._position = position_after(opening, chess960=context.setup.chess960)
        self._referee = Referee(context.setup.adjudication, context.probe)
        self._played: list[PlayedMove] = []
        self._read_at = 0.0
        self._pv: tuple[str, ...] = ()
        self._bad_pvs = 0
        self._failed = ""
        self._lines: tuple[str, ...] = ()

    async def play(self) -> GameResult:
        """Play the whole game. An engine that failed is killed before this returns."""
        began = perf_counter()
        verdict = self._referee.judge_opening(self._position) or await self._prepare()
        while verdict is None:
            verdict = await self._turn()
        return self._result(verdict, perf_counter() - began)

    async def _prepare(self) -> GameEnd | None:
        for white in (True, False):
            try:
                await self._engines[white].new_game()
            except EngineFault as fault:
                return await self._lost_by_fault(fault, white=white)
        return None

    async def _turn(self) -> GameEnd | None:
        white = self._position.white_to_move
        engine, clock = self._engines[white], self._clocks[white]
        try:
            answer = await self._ask(engine, clock)
        except EngineFault as fault:
            if clock.allowed_ms is not None and isinstance(fault, EngineSilent):
                return await self._lost_on_time("without an answer", white=white)
            return await self._lost_by_fault(fault, white=white)
        self._read_at = answer.read_at
        overrun = self._charge(clock, answer)
        try:
            self._position.play(answer.move)
        except IllegalMove:
            return await self._lost_by_move(answer.move, "move", white=white)
        self._note(answer)
        if overrun:
            return await self._lost_on_time(f"by {overrun} ms", white=white)
        if self._context.setup.strict_pvs and self._counts_bad_pv(answer.info.pv):
            return await self._lost_by_move(" ".join(answer.info.pv), "variation", white=white)
        return self._referee.judge_move(self._position, answer.info.score)

    async def _ask(self, engine: UciEngine, clock: SideClock) -> EngineMove:
        go = go_line(clock, self._clocks[True], self._clocks[False])
        engine.start_search(self._position.uci_command(), go)
        if self._read_at:
            self._context.latency.add_turnaround(perf_counter() - self._read_at)
        # Check the other side's variation while this side thinks.
        if not self._context.setup.strict_pvs:
            self._counts_bad_pv(self._pv)
        return await engine.read_move(clock.wait_seconds)

    def _charge(self, clock: SideClock, answer: EngineMove) -> int:
        """Take the move's time off its clock. Returns by how many milliseconds it exceeded it."""
        time = answer.spent
        overrun = clock.overrun_ms(time.least)
        spared = not overrun and clock.overrun_ms(time.read) > 0
        self._context.latency.add_answer(time.late, spared=spared)
        clock.spend(time.charged)
        return overrun

    def _counts_bad_pv(self, pv: tuple[str, ...]) -> bool:
        bad = bool(pv) and not self._position.is_legal_before(pv[:LONGEST_PV])
        self._bad_pvs += bad
        return bad

    def _note(self, answer: EngineMove) -> None:
        info = answer.info
        self._pv = info.pv
        score = "" if info.score is None else str(info.score)
        self._played.append(
            PlayedMove(answer.move, score, info.depth, info.nodes, answer.spent.charged)
        )

    async def _lost_by_fault(self, fault: EngineFault, *, white: bool) -> GameEnd:
        termination = Termination.CRASH if isinstance(fault, EngineGone) else Termination.STALL
        return await self._lost(termination, f"loses: {type(fault).__doc__}", white=white)

    async def _lost_on_time(self, how: str, *, white: bool) -> GameEnd:
        return await self._lost(Termination.TIME, f"loses on time, {how}", white=white)

    async def _lost_by_move(self, text: str, what: str, *, white: bool) -> GameEnd:
        shown = text[:100] or "(none)"
        return await self._lost(
            Termination.ILLEGAL, f"loses by an illegal {what}: {shown}", white=white
        )

    async def _lost(self, termination: Termination, reason: str, *, white: bool) -> GameEnd:
        """End the game as lost by an engine that failed, and kill that engine. The next game starts
        it again."""
        engine = self._engines[white]
        self._failed, self._lines = engine.spec.name, engine.tail
        await engine.kill()
        return GameEnd(won_by(not white), termination, f"{colour_name(white)} {reason}")

    def _result(self, verdict: GameEnd, seconds: float) -> GameResult:
        return GameResult(
            white=self._engines[True].spec.name,
            black=self._engines[False].spec.name,
            fen=self._position.start_fen,
            book_moves=self._opening.moves,
            moves=tuple(self._played),
            result=verdict.result,
            termination=verdict.termination,
            reason=verdict.reason,
            seconds=seconds,
            bad_pvs=self._bad_pvs,
            failed=self._failed,
            lines=self._lines,
            chess960=self._context.setup.chess960,
        )


# A slot plays games one after another and keeps their engines.

EventSink = Callable[[Event], None]


class GameSlot:
    """Plays pairs one after another. An engine's process is kept while it is needed."""

    def __init__(
        self, number: int, context: RunnerContext, threads: Threads, emit: EventSink
    ) -> None:
        self._number = number
        self._context = context
        self._threads = threads
        self._emit = emit
        self._engines: dict[str, UciEngine] = {}

    async def play(self, job: PairJob) -> None:
        """Play both games of a pair, in which each engine has each colour once."""
        await self._assign_engines(job.first, job.second)
        games = (
            await self._game(job, 0, job.first, job.second),
            await self._game(job, 1, job.second, job.first),
        )
        names = job.first.name, job.second.name
        self._emit(PairEnded(PairResult(job.number, *names, games, self._number)))

    async def close(self, *, politely: bool = True) -> None:
        """End the engines of this slot."""
        engines, self._engines = list(self._engines.values()), {}
        await asyncio.gather(*(one.quit() if politely else one.kill() for one in engines))

    async def _game(
        self, job: PairJob, number: int, white: EngineSpec, black: EngineSpec
    ) -> GameResult:
        # Engines that failed in the last game start again here, while no clock runs.
        for spec in (white, black):
            await self._engines[spec.name].prepare(spec, chess960=self._context.setup.chess960)
        self._emit(GameStarted(job.number, number, white.name, black.name))
        engines = self._engines[white.name], self._engines[black.name]
        result = await RunningGame(*engines, job.opening, self._context).play()
        self._context.latency.plies += result.plies
        self._emit(GameEnded(job.number, number, result))
        return result

    async def _assign_engines(self, *specs: EngineSpec) -> None:
        wanted = {spec.name: spec for spec in specs}
        leaving = [self._engines.pop(name) for name in list(self._engines) if name not in wanted]
        await asyncio.gather(*(engine.quit() for engine in leaving))
        for name, spec in wanted.items():
            if name not in self._engines:
                self._engines[name] = UciEngine(spec, self._context.setup.timeouts, self._threads)


# Passes events from the task that plays a match to the one that follows it.


class QueuedMatch(abc.ABC):
    """A match played by a separate task, which puts events, an end or a fault into a queue."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Event | Exception | None] = asyncio.Queue()

    @abc.abstractmethod
    async def _play(self) -> None:
        """Play to the end and emit events. It is cancelled when nobody follows the match any
        longer."""

    async def __aenter__(self) -> Self:
        self._playing = asyncio.create_task(self._feed())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._playing.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._playing

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        while (event := await self._queue.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    def _emit(self, event: Event) -> None:
        self._queue.put_nowait(event)

    async def _feed(self) -> None:
        try:
            await self._play()
        except Exception as fault:  # noqa: BLE001 - it is raised again where the match is watched
            self._queue.put_nowait(fault)
        else:
            self._queue.put_nowait(None)


# A match on this process's own loop, for shards and for small matches.

LATENCY_SECONDS = 5.0
"""The interval between reports of the latency, in addition to those after the first pair and at the
end."""


class LocalMatch(QueuedMatch):
    """Takes jobs as slots become free, until there are none left or the match is ended."""

    def __init__(
        self,
        jobs: Iterable[PairJob] | AsyncIterator[PairJob],
        setup: Setup,
        *,
        concurrency: int = 1,
    ) -> None:
        super().__init__()
        self._jobs = jobs if isinstance(jobs, AsyncIterator) else iterate_jobs(jobs)
        self._setup = setup
        self._concurrency = concurrency
        self._latency = Latency.fresh()
        self._next_report = 0.0

    async def _play(self) -> None:
        self._began, threads = thread_time(), Threads()
        tables = await threads.io(open_tables, self._setup.syzygy)
        probe = make_probe(tables) if self._setup.syzygy else None
        try:
            async with measure_lag(self._latency):
                await self._play_slots(RunnerContext(self._setup, self._latency, probe), threads)
        finally:
            tables.close()
        self._emit_latency(last=True)

    async def _play_slots(self, context: RunnerContext, threads: Threads) -> None:
        slots = [
            GameSlot(number, context, threads, self._emit_after_latency)
            for number in range(self._concurrency)
        ]
        working = [asyncio.create_task(self._work(slot)) for slot in slots]
        try:
            await asyncio.gather(*working)
        finally:
            await finish_despite_cancellation(_close(working, slots))

    async def _work(self, slot: GameSlot) -> None:
        while (job := await anext(self._jobs, None)) is not None:
            await slot.play(job)
        await slot.close()

    def _emit_after_latency(self, event: Event) -> None:
        """Emit the latency before a pair, so that a report of the pair can include it."""
        if isinstance(event, PairEnded) and monotonic() >= self._next_report:
            self._emit_latency()
        self._emit(event)

    def _emit_latency(self, *, last: bool = False) -> None:
        self._next_report = monotonic() + LATENCY_SECONDS
        self._latency.cpu_seconds = thread_time() - self._began
        self._emit(LatencyMeasured(replace(self._latency), last))


async def iterate_jobs(jobs: Iterable[PairJob]) -> AsyncIterator[PairJob]:
    """Yield the jobs as an asynchronous iterator. Each is made when a slot asks for it."""
    for job in jobs:
        yield job


async def _close(working: list[asyncio.Task[None]], slots: list[GameSlot]) -> None:
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    await asyncio.gather(*(slot.close(politely=False) for slot in slots))
