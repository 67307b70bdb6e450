"""A place at which games are played one after the other, with the engines that sit there."""

import asyncio
from collections.abc import Callable

from rookery.boundary.offload import Threads
from rookery.worker.match.events import Event, GameEnded, GameStarted, PairEnded
from rookery.worker.match.game import Game, Table
from rookery.worker.match.job import PairJob, PairResult
from rookery.worker.match.record import GameResult
from rookery.worker.match.spec import EngineSpec
from rookery.worker.match.uci import UciEngine

Tell = Callable[[Event], None]


class Slot:
    """Two seats. An engine keeps its seat, and its process, as long as it is asked to play."""

    def __init__(self, number: int, table: Table, threads: Threads, tell: Tell) -> None:
        self._number = number
        self._table = table
        self._threads = threads
        self._tell = tell
        self._seats: dict[str, UciEngine] = {}

    async def play(self, job: PairJob) -> None:
        """Both games of a pair, each engine once with each colour."""
        await self._seat(job.first, job.second)
        games = (
            await self._game(job, 0, job.first, job.second),
            await self._game(job, 1, job.second, job.first),
        )
        names = job.first.name, job.second.name
        self._tell(PairEnded(PairResult(job.number, *names, games, self._number)))

    async def close(self, *, politely: bool = True) -> None:
        """End all engines that sit here."""
        engines, self._seats = list(self._seats.values()), {}
        await asyncio.gather(*(one.quit() if politely else one.kill() for one in engines))

    async def _game(
        self, job: PairJob, number: int, white: EngineSpec, black: EngineSpec
    ) -> GameResult:
        # Engines that failed in the last game start again here, outside anybody's clock.
        for spec in (white, black):
            await self._seats[spec.name].prepare(spec, chess960=self._table.setup.chess960)
        self._tell(GameStarted(job.number, number, white.name, black.name))
        seats = self._seats[white.name], self._seats[black.name]
        result = await Game(*seats, job.opening, self._table).play()
        self._table.latency.plies += result.plies
        self._tell(GameEnded(job.number, number, result))
        return result

    async def _seat(self, *specs: EngineSpec) -> None:
        wanted = {spec.name: spec for spec in specs}
        leaving = [self._seats.pop(name) for name in list(self._seats) if name not in wanted]
        await asyncio.gather(*(engine.quit() for engine in leaving))
        for name, spec in wanted.items():
            if name not in self._seats:
                self._seats[name] = UciEngine(spec, self._table.setup.patience, self._threads)
