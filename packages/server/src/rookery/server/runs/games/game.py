"""One game of a run, on a board and as a list of its moves."""

from collections.abc import Iterator, Mapping
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.protocol.games import Game, GameMove, GameText, parse_game_text, read_score
from rookery.server.boundary.domains import Domain, runs
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.games import LONG_GAMES_SECONDS, IndexedGame
from rookery.server.http.answers import site_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import format_count, format_decimal
from rookery.server.http.pages.page import find_run_for, render_page_in_thread, viewer_of

MoveLine = tuple[int, GameMove, GameMove]
"""A full move: its number, White's and Black's half. That of a side that did not move is empty."""
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
    loaded = {
        "run": run,
        "now": site.clock.now(),
        "one": IndexedGame(task, number, found.game),
        "text": text,
        "is_last": is_last,
        "spans": site.games.spans,
        "long_seconds": LONG_GAMES_SECONDS,
    }
    show = partial(show_game, run, found.game, text)
    return await render_page_in_thread(request, "run_game.html", show, loaded)


def _read_number(request: Request, name: str) -> int:
    text = str(request.path_params[name])
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise NotFound("There is no such game.")
    return int(text)


def show_game(
    run: Run, indexed: Game, text: str, loaded: Mapping[str, object]
) -> Mapping[str, object]:
    """The values of the page: what was loaded, with the moves and scores in the text."""
    game = parse_game_text(text)
    new, base = (side.tag for side in run.plan.sides)
    white, black = (new, base) if indexed.new_is_white else (base, new)
    return {
        **loaded,
        "white": white,
        "black": black,
        "fen": game.tags.get("FEN", ""),
        "lines": tuple(pair_moves(game)),
        "scores": draw_scores(game, (white, black)),
    }


def pair_moves(game: GameText) -> Iterator[MoveLine]:
    """The moves with score, depth and time."""
    shown = [GameMove(move.san, move.comment.partition(",")[0]) for move in game.moves]
    all_moves = shown if game.white_begins else [NO_MOVE, *shown]
    for place in range(0, len(all_moves), 2):
        black = all_moves[place + 1] if place + 1 < len(all_moves) else NO_MOVE
        yield game.first_number + place // 2, all_moves[place], black


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
