"""One game of a run, on a board and as a list of its moves."""

from collections.abc import Iterator, Mapping
from functools import partial

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.core.protocol.games import Game, GameMove, GameText, parse_game_text, read_score
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.games import LONG_GAMES_SECONDS, GameStore, IndexedGame, StoredGame
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import format_count, format_decimal
from rookery.server.http.pages.pages import Page, Pages

MoveLine = tuple[int, GameMove, GameMove]
"""A full move: its number, White's and Black's half. That of a side that did not move is empty."""
NO_MOVE = GameMove("")
WON_PAWNS = 10.0
"""Larger scores are drawn at this value: the game is won, and only the time when that was seen
matters."""


NO_GAME = "There is no such game."
pages = Pages()
routes = pages.make_routes


@pages(
    "GET /runs/{run_id}/games/{task_id}/{number}", "a file is read, unpacked and shown in threads"
)
async def game_page(
    run_id: str,
    task_id: str,
    number: str,
    viewer: Actor | None,
    visible: VisibleRuns,
    games: GameStore,
    clock: Clock,
) -> Page:
    """One game."""
    run = await visible.find_part(run_id, viewer)
    task, place = _read_number(task_id), _read_number(number)
    found = await games.rows.find_game(run.id, task, place)
    if found is None:
        raise NotFound(NO_GAME)
    text = await _read_text(games, found)
    loaded = {
        "run": run,
        "now": clock.now(),
        "one": IndexedGame(task, place, found.game),
        "text": text,
        "is_last": await games.rows.find_game(run.id, task, place + 1) is None,
        "spans": games.spans,
        "long_seconds": LONG_GAMES_SECONDS,
    }
    return Page("run_game.html", loaded, make=partial(show_game, run, found.game, text))


def _read_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise NotFound(NO_GAME)
    return int(text)


async def _read_text(games: GameStore, found: StoredGame) -> str:
    """The text of a game; empty if it is not kept any more."""
    try:
        return await games.read_text(found) if found.blob else ""
    except UnknownBlob:
        return ""


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
