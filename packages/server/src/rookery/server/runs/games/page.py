"""The games of a run: their outcomes, a list, and statistics."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import QueryParams

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.core.protocol.games import Ending, Outcome
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.files.game_insights import LENGTH_STEP, GameInsightsReader
from rookery.server.files.games import LONG_GAMES_SECONDS, GameStore, GameSum
from rookery.server.http.pages.listing import ListAddress, make_pager, read_page
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts

PAGE_SIZE = 50
COLUMN_HIGH = 60.0
COLUMN_STEP = 28


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Games of one kind by the result of one side."""

    games: int
    won: int
    drawn: int
    lost: int
    plies: int

    @property
    def score(self) -> float | None:
        """The share of the points in finished games."""
        played = self.won + self.drawn + self.lost
        return (self.won + self.drawn / 2) / played if played else None

    @property
    def moves(self) -> float | None:
        """The mean number of moves."""
        return self.plies / 2 / self.games if self.games else None


pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class GameList(Parts):
    """Loads the games of a run."""

    clock: Clock
    games: GameStore
    insights: GameInsightsReader

    async def load(self, run: Run, page: int) -> Mapping[str, object]:
        rows = self.games.rows
        sums, insights = await rows.list_sums(run.id), await self.insights.read(run.id)
        both = count_outcomes(sums)
        return {
            "run": run,
            "now": self.clock.now(),
            "both": both,
            "colours": [(white, count_outcomes(of_colour(sums, white))) for white in (True, False)],
            "endings": list_endings(sums),
            # White scores above one half with most books; a score far from it is due to the book.
            "white": count_outcomes(sums, for_white=True),
            "games": await rows.list_run_games(run.id, (page - 1) * PAGE_SIZE, PAGE_SIZE),
            "insights": insights,
            "lengths": list(draw_lengths(insights.lengths)),
            "length_step": LENGTH_STEP,
            "here": bool(await rows.find_latest(run.id)),
            "spans": self.games.spans,
            "long_seconds": LONG_GAMES_SECONDS,
            "pager": make_pager(ListAddress(f"/runs/{run.id}/games"), page, PAGE_SIZE, both.games),
        }


@pages("GET /runs/{run_id}/games", "loads on the loop, computed and rendered in a thread")
async def games_page(
    run_id: str, viewer: Actor | None, visible: VisibleRuns, listed: GameList, query: QueryParams
) -> Page:
    """The games of a run."""
    run = await visible.find_part(run_id, viewer)
    return Page("run_games.html", await listed.load(run, read_page(query)))


def of_colour(sums: Iterable[GameSum], white: bool) -> list[GameSum]:
    """Those in which the new side had this colour."""
    return [each for each in sums if each.new_is_white is white]


def list_endings(sums: Sequence[GameSum]) -> list[tuple[Ending, OutcomeCounts]]:
    """The games by why they ended, the most frequent reason first."""
    found = {
        ending: count_outcomes([each for each in sums if each.ending is ending])
        for ending in {each.ending for each in sums}
    }
    return sorted(found.items(), key=lambda pair: -pair[1].games)


def count_outcomes(sums: Sequence[GameSum], *, for_white: bool = False) -> OutcomeCounts:
    """The games by the result of the new side, or of White."""

    def is_won(each: GameSum) -> bool:
        return each.outcome is _win(white=for_white or each.new_is_white)

    def is_lost(each: GameSum) -> bool:
        return each.outcome is _win(white=not (for_white or each.new_is_white))

    return OutcomeCounts(
        games=sum(each.games for each in sums),
        won=_count(sums, is_won),
        drawn=_count(sums, lambda each: each.outcome is Outcome.DRAW),
        lost=_count(sums, is_lost),
        plies=sum(each.plies for each in sums),
    )


def _win(*, white: bool) -> Outcome:
    return Outcome.WHITE if white else Outcome.BLACK


def _count(sums: Iterable[GameSum], wanted: Callable[[GameSum], bool]) -> int:
    return sum(each.games for each in sums if wanted(each))


def draw_lengths(lengths: Sequence[int]) -> Iterator[tuple[int, float, int, int]]:
    """The columns of the chart of game lengths: left edge, height, the first number of moves and
    the number of games. The last column has all longer games."""
    most = max(lengths, default=0)
    for place, number in enumerate(lengths if most else ()):
        height = max(1.0, COLUMN_HIGH * number / most) if number else 0.0
        yield place * COLUMN_STEP, height, place * LENGTH_STEP, number
