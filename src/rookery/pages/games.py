"""The games of a run: how they ended, a list of them, what they tell, and one game on a board."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.boundary.domains import Domain, runs
from rookery.files.blobs import UnknownBlob
from rookery.files.game_insights import LENGTH_STEP, GameInsights, PhaseSpeed
from rookery.files.games import GameSum, IndexedGame
from rookery.model.run import Run
from rookery.pages.formatting import (
    DASH,
    format_count,
    format_fixed,
    format_nps,
    format_plural,
)
from rookery.pages.listing import ListAddress, Pager, make_pager, read_page
from rookery.pages.page import find_run_for, render_page_in_thread, viewer_of
from rookery.pages.run_heading import RunHeading, make_run_heading
from rookery.protocol.games import Ending, Game, GameMove, Outcome, parse_game_text
from rookery.web.answers import site_of
from rookery.web.faults import NotFound

PAGE_SIZE = 50
ENDINGS = {
    Ending.UNSAID: "not said",
    Ending.NORMAL: "on the board",
    Ending.ADJUDICATION: "adjudicated",
    Ending.TIME_FORFEIT: "lost on time",
    Ending.ABANDONED: "an engine crashed",
    Ending.ILLEGAL_MOVE: "illegal move",
    Ending.STALLED: "an engine stalled",
    Ending.UNTERMINATED: "broken off",
}
RESULTS = {Outcome.WHITE: "1-0", Outcome.BLACK: "0-1", Outcome.DRAW: "½-½", Outcome.OPEN: "*"}
COLUMN_HIGH = 60.0
COLUMN_WIDE, COLUMN_STEP = 24, 28


# The page of all games.


@dataclass(frozen=True, slots=True)
class RunGamesData:
    run: Run
    now: datetime
    page: int
    sums: tuple[GameSum, ...]
    games: tuple[IndexedGame, ...]
    insights: GameInsights
    here: bool
    """Whether any of the games themselves are still here."""


@dataclass(frozen=True, slots=True)
class GameRow:
    """A game in a list, as the new side saw it."""

    address: str
    task: int
    number: int
    colour: str
    result: str
    points: str
    ending: str
    moves: int


@dataclass(frozen=True, slots=True)
class OutcomeRow:
    """Games of one kind by what the new side made of them."""

    name: str
    games: str
    share: str
    won: str
    drawn: str
    lost: str
    score: str
    moves: str


@dataclass(frozen=True, slots=True)
class LengthColumn:
    """A column of the drawing of lengths."""

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
    lopsided: tuple[tuple[GameRow, str], ...]
    bad: tuple[GameRow, ...]
    phases: tuple[tuple[str, str, str, str, str], ...]


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
        here=await rows.find_latest(run.id) is not None,
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
        rows=tuple(_make_row(here, each) for each in data.games),
        pager=make_pager(ListAddress(here), data.page, PAGE_SIZE, total),
        looked_at=_describe_sample(insights.games, total),
        lengths=tuple(_draw_lengths(insights.lengths)),
        openings=_describe_openings(insights),
        lopsided=tuple(
            (_make_row(here, each.sample), _describe_winner(each.winner, each.games))
            for each in insights.lopsided
        ),
        bad=tuple(_make_row(here, each) for each in insights.bad),
        phases=tuple(_list_phases(insights.phases)),
    )


def _make_row(here: str, each: IndexedGame) -> GameRow:
    game = each.game
    return GameRow(
        address=f"{here}/{each.task}/{each.number}",
        task=each.task,
        number=each.number,
        colour="White" if game.new_is_white else "Black",
        result=RESULTS[game.outcome],
        points=describe_points(game),
        ending=ENDINGS[game.ending],
        moves=(game.plies + 1) // 2,
    )


def describe_points(game: Game) -> str:
    """What the new side made of a game."""
    if game.outcome is Outcome.DRAW:
        return "drawn"
    if game.outcome is Outcome.OPEN:
        return "no result"
    won = (game.outcome is Outcome.WHITE) == game.new_is_white
    return "won" if won else "lost"


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
    """White scores above one half from most books; far off, the book is to blame."""
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


# The page of one game.


@dataclass(frozen=True, slots=True)
class MoveLine:
    """A full move, with score, depth and time; an empty word where the side did not move."""

    number: int
    white: GameMove
    black: GameMove


@dataclass(frozen=True, slots=True)
class RunGameView:
    heading: RunHeading
    row: GameRow
    white: str
    black: str
    fen: str
    text: str
    lines: tuple[MoveLine, ...]
    before: str
    after: str


NO_MOVE = GameMove("")


@runs(Domain.THREAD, "a file is read, unpacked and shown in threads")
async def game_page(request: Request) -> Response:
    site = site_of(request)
    run = await find_run_for(await viewer_of(request), request)
    task, number = (_read_number(request, name) for name in ("task_id", "number"))
    found = await site.games.rows.find_game(run.id, task, number)
    if found is None:
        raise NotFound("There is no such game.")
    text = ""
    if found.blob:
        try:
            text = await site.games.read_text(found)
        except UnknownBlob:
            text = ""
    data = run, site.clock.now(), IndexedGame(task, number, found.game), text
    return await render_page_in_thread(request, "run_game.html", make_game_view, data)


def _read_number(request: Request, name: str) -> int:
    text = str(request.path_params[name])
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise NotFound("There is no such game.")
    return int(text)


def make_game_view(data: tuple[Run, datetime, IndexedGame, str]) -> RunGameView:
    run, now, indexed, text = data
    game, here = parse_game_text(text), f"/runs/{run.id}/games"
    new, base = (side.tag for side in run.plan.sides[:2])
    sides = (new, base) if indexed.game.new_is_white else (base, new)
    return RunGameView(
        heading=make_run_heading(run, now, "games"),
        row=_make_row(here, indexed),
        white=sides[0],
        black=sides[1],
        fen=game.tags.get("FEN", ""),
        text=text,
        lines=tuple(_pair_moves(game.moves, game.first_number, white_begins=game.white_begins)),
        before=f"{here}/{indexed.task}/{indexed.number - 1}" if indexed.number else "",
        after=f"{here}/{indexed.task}/{indexed.number + 1}",
    )


def _pair_moves(moves: Sequence[GameMove], first: int, *, white_begins: bool) -> Iterator[MoveLine]:
    shown = [GameMove(move.san, move.comment.partition(",")[0]) for move in moves]
    all_moves = shown if white_begins else [NO_MOVE, *shown]
    for place in range(0, len(all_moves), 2):
        black = all_moves[place + 1] if place + 1 < len(all_moves) else NO_MOVE
        yield MoveLine(first + place // 2, all_moves[place], black)


def routes() -> list[BaseRoute]:
    return [
        Route("/runs/{run_id}/games", games_page, methods=["GET"]),
        Route("/runs/{run_id}/games/{task_id}/{number}", game_page, methods=["GET"]),
    ]
