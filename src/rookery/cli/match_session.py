"""One session of a match: follows its events, keeps count, shows it, and knows when to stop."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from rookery.boundary.offload import Threads
from rookery.cli.match_resume import GameFiles
from rookery.cli.match_show import Data, Display, Progress, Row, data, display, latency_data, rows
from rookery.match.clock import Latency
from rookery.match.job import Event, GameEnded, LatencyMeasured, Match, PairEnded
from rookery.match.pgn import Journal, JournalEntry, JournalWriter
from rookery.match.results import (
    MatchScore,
    Pairing,
    PairScore,
    Rating,
    pair_score_of,
    rate_engines,
)
from rookery.model.task import NOTHING, Results
from rookery.stats.sprt import Sprt, Verdict


@dataclass(frozen=True, slots=True)
class MatchOutcome:
    """What a match came to."""

    sprt: Sprt | None
    verdict: Verdict
    rows: list[Row]
    data: Data


class MatchSession:
    """Mutable; the task that follows the match is its one writer."""

    def __init__(
        self,
        names: Sequence[str],
        sprt: Sprt | None,
        files: GameFiles,
        writer: JournalWriter,
        *,
        games_wanted: int | None,
        quiet: bool,
    ) -> None:
        self._names = names
        self._files = files
        self._writer = writer
        self._wanted = games_wanted
        self._quiet = quiet
        self._score = MatchScore(sprt)
        self._meetings: dict[Pairing, Results] = {}
        self._latency: Latency | None = None
        self._threads = Threads()
        self._began = monotonic()
        self._games_before = 0

    def recall(self, kept: Journal) -> None:
        """Count what an earlier session played."""
        for entry in kept.entries:
            self._count(entry.pair)
        self._games_before = self._score.results.games

    async def follow(self, match: Match) -> MatchOutcome:
        """Play until the verdict or the end."""
        with display(" against ".join(self._names), self.rows, quiet=self._quiet) as shown:
            if self._score.verdict is Verdict.RUNNING:
                await self._follow(match, shown)
        return MatchOutcome(self._score.sprt, self._score.verdict, self._last_rows(), self._data())

    async def _follow(self, match: Match, shown: Display) -> None:
        async with match:
            async for event in match:
                await self._take(event)
                shown.changed()
                if self._score.verdict is not Verdict.RUNNING:
                    return

    async def _take(self, event: Event) -> None:
        if isinstance(event, GameEnded):
            # Writing moves in their short form takes milliseconds; the loop has events to read.
            await self._threads.io(self._files.add, event)
        elif isinstance(event, PairEnded):
            score = pair_score_of(event.pair)
            self._count(score)
            await self._threads.io(self._writer.add, JournalEntry(score))
        elif isinstance(event, LatencyMeasured):
            self._latency = event.latency

    def _count(self, pair: PairScore) -> None:
        self._score = self._score.after(pair)
        pairing = pair.first, pair.second
        # A new dictionary each time: the display's thread may be reading the old one.
        results = self._meetings.get(pairing, NOTHING) + pair.results
        self._meetings = {**self._meetings, pairing: results}

    def rows(self) -> list[Row]:
        """What is shown now."""
        if len(self._names) == 2:
            return rows(self._progress())
        games = self._score.results.games
        wanted = f" of {self._wanted}" if self._wanted else ""
        return [("Games", f"{games}{wanted}"), *_rating_rows(self._ratings())]

    def _progress(self) -> Progress:
        """The speed is this session's, whatever was played before."""
        seconds = monotonic() - self._began
        games = self._score.results.games
        played = games - self._games_before
        spent = seconds * games / played if played else 0.0
        return Progress(self._score, spent, self._wanted, self._latency)

    def _ratings(self) -> list[Rating]:
        return rate_engines(self._names, self._meetings)

    def _last_rows(self) -> list[Row]:
        shown = [row for row in self.rows() if row[0] != "Left"]
        if self._score.sprt:
            shown.append(("Verdict", self._score.verdict.value or "none"))
        return shown

    def _data(self) -> Data:
        if len(self._names) == 2:
            return {"engines": list(self._names), **data(self._progress())}
        table: list[Data] = [
            {
                "name": one.name,
                "elo": one.elo,
                "error": one.error,
                "games": one.games,
                "score": one.score,
                "wins": one.results.wins,
                "losses": one.results.losses,
                "draws": one.results.draws,
            }
            for one in self._ratings()
        ]
        latency = {} if self._latency is None else {"latency": latency_data(self._latency)}
        return {"games": self._score.results.games, "ratings": table, **latency}


def _rating_rows(ratings: Sequence[Rating]) -> list[Row]:
    return [(one.name, _rating_text(one)) for one in ratings]


def _rating_text(one: Rating) -> str:
    counts = f"+{one.results.wins} -{one.results.losses} ={one.results.draws}"
    return f"{one.elo:+8.1f} ± {one.error:<6.1f} {one.score:g} of {one.games} ({counts})"
