"""Plays one game between two engines, whatever they do, and says how it ended."""

from dataclasses import dataclass
from time import perf_counter

from rookery.worker.match.clock import SideClock, go_line
from rookery.worker.match.faults import EngineFault, EngineGone, EngineSilent
from rookery.worker.match.job import Setup
from rookery.worker.match.latency import Latency
from rookery.worker.match.position import IllegalMove, opened
from rookery.worker.match.record import GameResult, Played, Termination
from rookery.worker.match.uci import Answer, UciEngine
from rookery.worker.match.verdict import Probe, Referee, Verdict, colour, won_by
from rookery.worker.openings import Opening

LONGEST_PV = 60
"""Moves of a variation that are looked at."""


@dataclass(frozen=True, slots=True)
class Table:
    """What games are played with: the match's rules, tablebases, and the runner's own stopwatch."""

    setup: Setup
    latency: Latency
    probe: Probe | None = None


class Game:
    """One game in progress; mutable, used once."""

    def __init__(self, white: UciEngine, black: UciEngine, opening: Opening, table: Table) -> None:
        self._table = table
        self._engines = (black, white)
        self._opening = opening
        margin = table.setup.margin_ms
        self._clocks = (SideClock(black.spec.tc, margin), SideClock(white.spec.tc, margin))
        self._position = opened(opening, chess960=table.setup.chess960)
        self._referee = Referee(table.setup.adjudication, table.probe)
        self._played: list[Played] = []
        self._read_at = 0.0
        self._pv: tuple[str, ...] = ()
        self._bad_pvs = 0
        self._failed = ""
        self._lines: tuple[str, ...] = ()

    async def play(self) -> GameResult:
        """The whole game. An engine that failed is killed before this returns."""
        began = perf_counter()
        verdict = self._referee.at_start(self._position) or await self._prepare()
        while verdict is None:
            verdict = await self._turn()
        return self._result(verdict, perf_counter() - began)

    async def _prepare(self) -> Verdict | None:
        for white in (True, False):
            try:
                await self._engines[white].new_game()
            except EngineFault as fault:
                return await self._lost_by_fault(fault, white=white)
        return None

    async def _turn(self) -> Verdict | None:
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
        if self._table.setup.strict_pvs and self._counts_bad_pv(answer.info.pv):
            return await self._lost_by_move(" ".join(answer.info.pv), "variation", white=white)
        return self._referee.after_move(self._position, answer.info.score)

    async def _ask(self, engine: UciEngine, clock: SideClock) -> Answer:
        go = go_line(clock, self._clocks[True], self._clocks[False])
        engine.think(self._position.line(), go)
        if self._read_at:
            self._table.latency.turned_around(perf_counter() - self._read_at)
        # The other side's variation is looked at while this side thinks.
        if not self._table.setup.strict_pvs:
            self._counts_bad_pv(self._pv)
        return await engine.answer(clock.patience_seconds)

    def _charge(self, clock: SideClock, answer: Answer) -> int:
        """Take the move's time off its clock; how many milliseconds after the flag it came."""
        time = answer.spent
        overrun = clock.overrun_ms(time.least)
        spared = not overrun and clock.overrun_ms(time.read) > 0
        self._table.latency.read(time.late, spared=spared)
        clock.spend(time.charged)
        return overrun

    def _counts_bad_pv(self, pv: tuple[str, ...]) -> bool:
        bad = bool(pv) and not self._position.is_legal_before(pv[:LONGEST_PV])
        self._bad_pvs += bad
        return bad

    def _note(self, answer: Answer) -> None:
        info = answer.info
        self._pv = info.pv
        score = "" if info.score is None else str(info.score)
        self._played.append(
            Played(answer.move, score, info.depth, info.nodes, answer.spent.charged)
        )

    async def _lost_by_fault(self, fault: EngineFault, *, white: bool) -> Verdict:
        termination = Termination.CRASH if isinstance(fault, EngineGone) else Termination.STALL
        return await self._lost(termination, f"loses: {type(fault).__doc__}", white=white)

    async def _lost_on_time(self, how: str, *, white: bool) -> Verdict:
        return await self._lost(Termination.TIME, f"loses on time, {how}", white=white)

    async def _lost_by_move(self, text: str, what: str, *, white: bool) -> Verdict:
        shown = text[:100] or "(none)"
        return await self._lost(
            Termination.ILLEGAL, f"loses by an illegal {what}: {shown}", white=white
        )

    async def _lost(self, termination: Termination, reason: str, *, white: bool) -> Verdict:
        """An engine that failed is not trusted with another game: the next one starts it anew."""
        engine = self._engines[white]
        self._failed, self._lines = engine.spec.name, engine.tail
        await engine.kill()
        return Verdict(won_by(not white), termination, f"{colour(white)} {reason}")

    def _result(self, verdict: Verdict, seconds: float) -> GameResult:
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
            chess960=self._table.setup.chess960,
        )
