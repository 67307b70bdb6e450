"""A game in words, for lists and above its board."""

from dataclasses import dataclass

from rookery.core.protocol.games import Ending, Game, Outcome
from rookery.server.files.games import LONG_GAMES_SECONDS, GameSpans, IndexedGame
from rookery.server.http.pages.formatting import format_plural

ENDINGS = {
    Ending.UNSAID: "unknown",
    Ending.NORMAL: "on the board",
    Ending.ADJUDICATION: "adjudicated",
    Ending.TIME_FORFEIT: "lost on time",
    Ending.ABANDONED: "an engine crashed",
    Ending.ILLEGAL_MOVE: "illegal move",
    Ending.STALLED: "an engine stalled",
    Ending.UNTERMINATED: "aborted",
}
RESULTS = {Outcome.WHITE: "1-0", Outcome.BLACK: "0-1", Outcome.DRAW: "½-½", Outcome.OPEN: "*"}


def describe_retention(spans: GameSpans) -> str:
    """For how long this farm keeps games, as a sentence."""
    return (
        f"Games are kept {_describe_days(spans.short)} after a test has ended, or"
        f" {_describe_days(spans.long)} where the base time is at least {LONG_GAMES_SECONDS} s."
    )


def _describe_days(days: int | None) -> str:
    return "for ever" if days is None else f"for {format_plural(days, 'day')}"


@dataclass(frozen=True, slots=True)
class GameRow:
    """A game in a list, from the new side's point of view."""

    address: str
    task: int
    number: int
    colour: str
    result: str
    points: str
    ending: str
    moves: int


def make_game_row(here: str, each: IndexedGame) -> GameRow:
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
    """The result of a game for the new side."""
    if game.outcome is Outcome.DRAW:
        return "drawn"
    if game.outcome is Outcome.OPEN:
        return "no result"
    won = (game.outcome is Outcome.WHITE) == game.new_is_white
    return "won" if won else "lost"
