"""The games of a run: their outcomes, a list, and statistics."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.protocol.games import Outcome
from rookery.server.boundary.domains import Domain, runs
from rookery.server.files.game_insights import LENGTH_STEP, GameInsights, PhaseSpeed
from rookery.server.files.games import GameSpans, GameSum, IndexedGame
from rookery.server.http.answers import site_of
from rookery.server.http.pages.formatting import (
    DASH,
    format_count,
    format_fixed,
    format_nps,
    format_plural,
)
from rookery.server.http.pages.listing import ListAddress, Pager, make_pager, read_page
from rookery.server.http.pages.page import find_run_for, render_page_in_thread, viewer_of
from rookery.server.runs.games.rows import ENDINGS, GameRow, describe_retention, make_game_row
from rookery.server.runs.run.heading import RunHeading, make_run_heading

PAGE_SIZE = 50
COLUMN_HIGH = 60.0
COLUMN_STEP = 28


@dataclass(frozen=True, slots=True)
class RunGamesData:
    run: Run
    now: datetime
    page: int
    sums: tuple[GameSum, ...]
    games: tuple[IndexedGame, ...]
    insights: GameInsights
    here: bool
    """Whether any of the games are still stored."""
    spans: GameSpans


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """Games of one kind by the new side's result."""

    name: str
    games: str
    share: str
    won: str
    drawn: str
    lost: str
    score: str
    moves: str


@dataclass(frozen=True, slots=True)
class LopsidedRow:
    """An opening that the same colour always won, with one of its games."""

    game: GameRow
    words: str
    position: str


@dataclass(frozen=True, slots=True)
class LengthColumn:
    """A column of the chart of game lengths."""

    x: int
    y: str
    height: str
    text: str
    mark: str


@dataclass(frozen=True, slots=True)
class RunGamesView:
    heading: RunHeading
    total: int
    count: str
    here: bool
    colours: tuple[OutcomeRow, ...]
    endings: tuple[OutcomeRow, ...]
    white_share: str
    rows: tuple[GameRow, ...]
    pager: Pager
    looked_at: str
    lengths: tuple[LengthColumn, ...]
    openings: str
    lopsided: tuple[LopsidedRow, ...]
    bad: tuple[GameRow, ...]
    phases: tuple[tuple[str, str, str, str, str], ...]
    timed: str
    """What the phases of games are derived from."""
    retention: str


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def games_page(request: Request) -> Response:
    site = site_of(request)
    run = await find_run_for(await viewer_of(request), request)
    page, rows = read_page(request.query_params), site.games.rows
    data = RunGamesData(
        run=run,
        now=site.clock.now(),
        page=page,
        sums=await rows.list_sums(run.id),
        games=await rows.list_run_games(run.id, (page - 1) * PAGE_SIZE, PAGE_SIZE),
        insights=await site.game_insights.read(run.id),
        here=bool(await rows.find_latest(run.id)),
        spans=site.games.spans,
    )
    return await render_page_in_thread(request, "run_games.html", make_games_view, data)


def make_games_view(data: RunGamesData) -> RunGamesView:
    sums, insights, here = data.sums, data.insights, f"/runs/{data.run.id}/games"
    total = sum(each.games for each in sums)
    return RunGamesView(
        heading=make_run_heading(data.run, data.now, "games"),
        total=total,
        count=format_plural(total, "game"),
        here=data.here,
        colours=tuple(_list_colours(sums)),
        endings=tuple(_list_endings(sums)),
        white_share=_describe_white(sums),
        rows=tuple(make_game_row(here, each) for each in data.games),
        pager=make_pager(ListAddress(here), data.page, PAGE_SIZE, total),
        looked_at=_describe_sample(insights.games, total),
        lengths=tuple(_draw_lengths(insights.lengths)),
        openings=_describe_openings(insights),
        lopsided=tuple(
            LopsidedRow(
                make_game_row(here, each.sample),
                _describe_winner(each.winner, each.games),
                each.position,
            )
            for each in insights.lopsided
        ),
        bad=tuple(make_game_row(here, each) for each in insights.bad),
        phases=tuple(_list_phases(insights.phases)),
        timed=f"From {format_plural(insights.timed_games, 'game')} of the latest uploads.",
        retention=describe_retention(data.spans),
    )


def _list_colours(sums: Sequence[GameSum]) -> Iterator[OutcomeRow]:
    total = sum(each.games for each in sums)
    for name, white in (("New as White", True), ("New as Black", False)):
        yield _add_up(name, [each for each in sums if each.new_is_white is white], total)
    yield _add_up("Both", sums, total)


def _list_endings(sums: Sequence[GameSum]) -> Iterator[OutcomeRow]:
    total = sum(each.games for each in sums)
    found = {each.ending for each in sums}
    groups = {ending: [each for each in sums if each.ending is ending] for ending in found}
    ordered = sorted(groups.items(), key=lambda pair: -sum(each.games for each in pair[1]))
    for ending, those in ordered:
        yield _add_up(ENDINGS[ending], those, total)


def _add_up(name: str, sums: Iterable[GameSum], total: int) -> OutcomeRow:
    those = list(sums)
    games, plies = sum(each.games for each in those), sum(each.plies for each in those)
    won = _count(those, lambda each: each.outcome is _win(each))
    drawn = _count(those, lambda each: each.outcome is Outcome.DRAW)
    lost = _count(those, lambda each: each.outcome is _loss(each))
    played = won + drawn + lost
    return OutcomeRow(
        name=name,
        games=format_count(games),
        share=f"{games / total:.1%}" if total and games else DASH,
        won=format_count(won),
        drawn=format_count(drawn),
        lost=format_count(lost),
        score=f"{(won + drawn / 2) / played:.1%}" if played else DASH,
        moves=format_count(plies / 2 / games) if games else DASH,
    )


def _count(sums: Iterable[GameSum], wanted: Callable[[GameSum], bool]) -> int:
    return sum(each.games for each in sums if wanted(each))


def _win(each: GameSum) -> Outcome:
    return Outcome.WHITE if each.new_is_white else Outcome.BLACK


def _loss(each: GameSum) -> Outcome:
    return Outcome.BLACK if each.new_is_white else Outcome.WHITE


def _describe_white(sums: Sequence[GameSum]) -> str:
    """White's score in words. White scores above one half with most books; a score far from it is
    due to the book."""
    won = _count(sums, lambda each: each.outcome is Outcome.WHITE)
    lost = _count(sums, lambda each: each.outcome is Outcome.BLACK)
    drawn = _count(sums, lambda each: each.outcome is Outcome.DRAW)
    played = won + lost + drawn
    return f"White scored {(won + drawn / 2) / played:.1%}." if played else ""


def _describe_sample(looked_at: int, total: int) -> str:
    if looked_at >= total:
        return f"From all {format_plural(total, 'game')}."
    return f"From the latest {format_count(looked_at)} of {format_plural(total, 'game')}."


def _draw_lengths(lengths: Sequence[int]) -> Iterator[LengthColumn]:
    most = max(lengths, default=0)
    if not most:
        return
    for place, number in enumerate(lengths):
        height = max(1.0, COLUMN_HIGH * number / most) if number else 0.0
        start = place * LENGTH_STEP
        last = place == len(lengths) - 1
        words = f"{start} moves or more" if last else f"{start} to {start + LENGTH_STEP - 1} moves"
        yield LengthColumn(
            x=place * COLUMN_STEP,
            y=f"{COLUMN_HIGH - height:.1f}",
            height=f"{height:.1f}",
            text=f"{words}: {format_count(number)}",
            mark=str(start) if place % 2 == 0 else "",
        )


def _describe_openings(insights: GameInsights) -> str:
    number = insights.openings
    if not number:
        return ""
    white, black = insights.white_always / number, insights.black_always / number
    return (
        f"{format_plural(number, 'opening')} came up at least twice; White won every game of"
        f" {white:.1%} of them, Black of {black:.1%}. Pairs from such openings tell little."
    )


def _describe_winner(winner: Outcome, games: int) -> str:
    colour = "White" if winner is Outcome.WHITE else "Black"
    return f"{colour} won all {format_plural(games, 'game')}"


def _list_phases(phases: Iterable[PhaseSpeed]) -> Iterator[tuple[str, str, str, str, str]]:
    for each in phases:
        yield (
            f"from move {each.first_move}",
            "new" if each.is_new else "base",
            f"{format_fixed(each.seconds)} s",
            format_fixed(each.depth) if each.depth else DASH,
            format_nps(each.nodes_per_second) if each.nodes_per_second else DASH,
        )


def routes() -> list[BaseRoute]:
    return [Route("/runs/{run_id}/games", games_page, methods=["GET"])]
