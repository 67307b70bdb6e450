"""One game of a run, on a board and as a list of its moves."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.protocol.games import GameMove, GameText, parse_game_text, read_score
from rookery.server.boundary.domains import Domain, runs
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.games import GameSpans, IndexedGame
from rookery.server.http.answers import site_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import format_count, format_decimal
from rookery.server.http.pages.page import find_run_for, render_page_in_thread, viewer_of
from rookery.server.runs.games.rows import GameRow, describe_retention, make_game_row
from rookery.server.runs.run.heading import RunHeading, make_run_heading


@dataclass(frozen=True, slots=True)
class MoveLine:
    """A full move with score, depth and time. A text is empty if that side did not move."""

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
    scores: Figure | None
    before: str
    after: str
    retention: str


@dataclass(frozen=True, slots=True)
class RunGameData:
    run: Run
    now: datetime
    indexed: IndexedGame
    text: str
    is_last: bool
    """Whether the task has no later game."""
    spans: GameSpans


NO_MOVE = GameMove("")
WON_PAWNS = 10.0
"""Larger scores are drawn at this value: the game is won, and only the time when that was seen
matters."""


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
    is_last = await site.games.rows.find_game(run.id, task, number + 1) is None
    game = IndexedGame(task, number, found.game)
    data = RunGameData(run, site.clock.now(), game, text, is_last, site.games.spans)
    return await render_page_in_thread(request, "run_game.html", make_game_view, data)


def _read_number(request: Request, name: str) -> int:
    text = str(request.path_params[name])
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise NotFound("There is no such game.")
    return int(text)


def make_game_view(data: RunGameData) -> RunGameView:
    run, indexed, text = data.run, data.indexed, data.text
    game, here = parse_game_text(text), f"/runs/{run.id}/games"
    new, base = (side.tag for side in run.plan.sides)
    sides = (new, base) if indexed.game.new_is_white else (base, new)
    return RunGameView(
        heading=make_run_heading(run, data.now, "games"),
        row=make_game_row(here, indexed),
        white=sides[0],
        black=sides[1],
        fen=game.tags.get("FEN", ""),
        text=text,
        lines=tuple(_pair_moves(game.moves, game.first_number, white_begins=game.white_begins)),
        scores=draw_scores(game, sides),
        before=f"{here}/{indexed.task}/{indexed.number - 1}" if indexed.number else "",
        after="" if data.is_last else f"{here}/{indexed.task}/{indexed.number + 1}",
        retention=describe_retention(data.spans),
    )


def _pair_moves(moves: Sequence[GameMove], first: int, *, white_begins: bool) -> Iterator[MoveLine]:
    shown = [GameMove(move.san, move.comment.partition(",")[0]) for move in moves]
    all_moves = shown if white_begins else [NO_MOVE, *shown]
    for place in range(0, len(all_moves), 2):
        black = all_moves[place + 1] if place + 1 < len(all_moves) else NO_MOVE
        yield MoveLine(first + place // 2, all_moves[place], black)


def draw_scores(game: GameText, sides: tuple[str, str]) -> Figure | None:
    """The evaluations of both sides from White's point of view. Where they differ, one side was
    wrong."""
    points: tuple[list[CurvePoint], list[CurvePoint]] = ([], [])
    for ply, move in enumerate(game.moves, 0 if game.white_begins else 1):
        score = read_score(move.comment)
        if score is not None:
            is_black = ply % 2
            seen = min(WON_PAWNS, max(-WON_PAWNS, -score if is_black else score))
            points[is_black].append(CurvePoint(game.first_number + ply / 2, seen))
    curves = [
        Curve(f"{side}, {colour}", tuple(each))
        for side, colour, each in zip(sides, ("White", "Black"), points, strict=True)
        if each
    ]
    axes = FigureAxes(format_count, format_decimal, "moves")
    return draw_figure("Scores in pawns, for White above zero", curves, axes)


def routes() -> list[BaseRoute]:
    return [Route("/runs/{run_id}/games/{task_id}/{number}", game_page, methods=["GET"])]
