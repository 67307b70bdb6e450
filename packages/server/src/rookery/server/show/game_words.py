"""A game in words, for lists and above its board."""

from rookery.core.protocol.games import Ending, Game, Outcome

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


def name_ending(ending: Ending) -> str:
    return ENDINGS[ending]


def spell_result(game: Game) -> str:
    return RESULTS[game.outcome]


def describe_points(game: Game) -> str:
    """The result of a game for the new side."""
    if game.outcome is Outcome.DRAW:
        return "drawn"
    if game.outcome is Outcome.OPEN:
        return "no result"
    won = (game.outcome is Outcome.WHITE) == game.new_is_white
    return "won" if won else "lost"
