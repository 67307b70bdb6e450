"""The matches of a task: one for fixed games and sequential tests, one for each batch of a tune."""

import asyncio
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from msgspec import UNSET

from rookery.core.results import Results
from rookery.protocol.stats import stats_of
from rookery.protocol.worker.answers import SpsaAnswer
from rookery.worker.match.fastchess import Files
from rookery.worker.match.lasting import Batch, LastingMatch
from rookery.worker.match.match import Match
from rookery.worker.match.schedule import Openings, jobs, openings_of
from rookery.worker.match.spec import EngineSpec
from rookery.worker.openings import order_of_run
from rookery.worker.openings.order import seed_of_run
from rookery.worker.session.assignment import Assignment, batch_pairs, setup_of
from rookery.worker.session.conversation import Progress
from rookery.worker.session.faults import Refused, TaskFailed, Unreachable
from rookery.worker.session.gamefile import GameFile
from rookery.worker.session.kit import Kit
from rookery.worker.session.ledger import GamesLedger, TuneLedger
from rookery.worker.session.playing import Parts, Sitting, Table
from rookery.worker.session.preparing import Prepared
from rookery.worker.session.reporting import Courier, insist
from rookery.worker.session.runners import Runners, scripted
from rookery.worker.session.stopping import ended, first_of
from rookery.worker.session.supply import Supply
from rookery.worker.session.tuning import Draw, drawn, tune_jobs


@dataclass(frozen=True, slots=True)
class Rounds:
    """What a task is played with once its engines are there."""

    kit: Kit
    task: Assignment
    prepared: Prepared
    courier: Courier
    games: GameFile
    lost: asyncio.Event
    note: Callable[[str], object]

    async def play(self) -> bool:
        """All of it, or until somebody wants no more. False where the server said before a batch
        that the task is over. Raises TaskFailed or MatchFault."""
        depth = _depth(self.task)
        book = await self.kit.books.load(self.task.args.book, self.task.args.book_sri, depth)
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
        return max(1, self.kit.identity.offer.concurrency // self.task.threads)

    @property
    def _batch(self) -> int:
        nps = self.prepared.nps
        return batch_pairs(self.task, self._slots, house=self.kit.house, nps=nps)

    def _runners(self) -> Runners:
        setup = setup_of(self.task, self.kit.syzygy)
        return Runners(
            setup, self._slots, self.kit.nodes, "" if self.kit.house else self.kit.fastchess
        )

    def _table(self, batch: int, pairs: int, *, whole: bool) -> Table:
        game_seconds = self.prepared.base.tc.game_seconds(self.prepared.nps)
        return Table(
            task=self.task,
            slots=self._slots,
            batch=batch,
            whole=whole,
            pair_seconds=2 * game_seconds,
            games=self.games,
            identity=self.kit.identity,
            report=self.courier.put,
            tell=self.note,
            lost=self.lost,
            stop=self.kit.stop,
            threads=self.kit.threads,
            watch=self.kit.watch,
            limit_seconds=None if self.kit.house else self._limit(pairs),
            parts=Parts() if self.kit.in_parts else None,
        )

    def _limit(self, pairs: int) -> float:
        """How long fastchess may take; the built-in runner watches every move."""
        sides = (self.prepared.new, self.prepared.base)
        limit = fmean(side.tc.limit_seconds(self.prepared.nps) for side in sides)
        whole = limit * max(8.0, 2 * pairs / self._slots)
        return 2 * whole if self.task.is_tune else whole

    async def _games(self, openings: Openings, plies: int) -> None:
        task, sides = self.task, await self._seated(self.prepared.new, self.prepared.base)
        whole = task.args.sprt is not UNSET and not self.kit.in_parts
        ledger = GamesLedger(task.before, self._batch)
        supply = Supply(jobs([sides], openings, rounds=task.pairs))
        match = await self._runners().match(
            supply, sides, self._files(plies), task.pairs, self.kit.threads
        )
        await Sitting(self._table(self._batch, task.pairs, whole=whole), ledger, supply).follow(
            match
        )
        # The last batch of fixed games may be smaller than the others; of a sequential test too,
        # where the server takes parts.
        if not whole and (told := ledger.rest()):
            self.courier.put(told)

    async def _seated(self, new: EngineSpec, base: EngineSpec) -> tuple[EngineSpec, EngineSpec]:
        """As the program that referees can start them."""
        if not self._runners().fastchess:
            return new, base
        write, folder = self.kit.threads.io, self.kit.scratch
        return await write(scripted, new, folder), await write(scripted, base, folder)

    def _files(self, plies: int) -> Files:
        """For fastchess, which reads the book and writes the games itself."""
        task = self.task
        book = self.kit.books.file(task.args.book) if plies > 0 else None
        seed = seed_of_run(task.name.run)
        return Files(book, plies, seed, task.first_opening, self.games.file)

    async def _tune(self, openings: Openings) -> bool:
        async with self._runners().lasting() or nullcontext() as lasting:
            return await self._batches(openings, lasting)

    async def _batches(self, openings: Openings, lasting: LastingMatch | None) -> bool:
        total, told = self.task.before, Progress(stats_of(self.task.before))
        while (left := (self.task.games - total.games) // 2) > 0 and not self._ending:
            pairs = min(self._batch, left)
            answer = await self._values(told, pairs)
            if not answer.task_alive:
                return False
            played = await self._tune_batch(answer, openings, total, pairs, lasting)
            if played.told is None:
                break
            total, told = played.total, played.told
            await self._heard()
        return True

    async def _tune_batch(
        self,
        answer: SpsaAnswer,
        openings: Openings,
        total: Results,
        pairs: int,
        lasting: LastingMatch | None,
    ) -> TuneLedger:
        draw = drawn(answer, self.prepared.new, self.prepared.base, self.kit.chance)
        signatures = [values.signature for values in draw.values]
        ledger = TuneLedger(total, pairs, signatures, draw.signature, house=self.kit.house)
        supply = Supply(tune_jobs(draw, openings, total, self.task.before, pairs))
        played = (total.games - self.task.before.games) // 2
        match = (
            Batch(lasting, supply) if lasting else await self._other(draw, supply, played, pairs)
        )
        await Sitting(self._table(pairs, pairs, whole=True), ledger, supply).follow(match)
        return ledger

    async def _other(self, draw: Draw, supply: Supply, played: int, pairs: int) -> Match:
        """A batch whose engines end with it."""
        sides = await self._seated(draw.values[0].new, draw.values[0].base)
        files = self._files(2 * _depth(self.task))
        files = replace(files, start=files.start + played)
        return await self._runners().match(supply, sides, files, pairs, self.kit.threads)

    async def _values(self, told: Progress, pairs: int) -> SpsaAnswer:
        kit = self.kit
        slots = min(self._slots, pairs) if kit.house else 0
        ask = partial(kit.talk.spsa, kit.identity.info, self.task.name, told, slots)
        try:
            return await insist(ask, kit.patience, kit.threads, kit.watch)
        except (Refused, Unreachable) as error:
            raise TaskFailed(f"The server gave no values: {error}") from None

    async def _heard(self) -> None:
        """Values for the next batch depend on this one."""
        waiting = asyncio.create_task(self.courier.idle())
        try:
            await first_of(waiting, self.lost)
        finally:
            await ended(waiting)

    @property
    def _ending(self) -> bool:
        return self.lost.is_set() or self.kit.stop.asked.is_set()


def _depth(task: Assignment) -> int:
    text = str(task.args.book_depth)
    return int(text) if text.lstrip("-").isdecimal() else 0
