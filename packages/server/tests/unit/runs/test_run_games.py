"""The games of a run, counted by how they ended."""

from rookery.core.protocol.games import Ending, Outcome
from rookery.server.files.games import GameSum
from rookery.server.runs.games.page import count_outcomes, draw_lengths, list_endings

SUMS = (
    GameSum(Outcome.WHITE, Ending.NORMAL, new_is_white=True, games=3, plies=300),
    GameSum(Outcome.WHITE, Ending.NORMAL, new_is_white=False, games=1, plies=60),
    GameSum(Outcome.DRAW, Ending.ADJUDICATION, new_is_white=False, games=5, plies=500),
    GameSum(Outcome.OPEN, Ending.UNTERMINATED, new_is_white=True, games=1, plies=40),
)


def test_games_are_counted_for_the_new_side_or_for_white() -> None:
    new, white = count_outcomes(SUMS), count_outcomes(SUMS, for_white=True)
    assert (new.games, new.won, new.drawn, new.lost) == (10, 3, 5, 1)
    assert (white.won, white.drawn, white.lost) == (4, 5, 0)
    assert new.score == 5.5 / 9
    assert new.moves == 45
    nothing = count_outcomes(())
    assert (nothing.score, nothing.moves) == (None, None)


def test_the_most_frequent_ending_comes_first() -> None:
    endings = [(ending, row.games) for ending, row in list_endings(SUMS)]
    assert endings == [(Ending.ADJUDICATION, 5), (Ending.NORMAL, 4), (Ending.UNTERMINATED, 1)]


def test_few_games_of_a_length_are_still_seen() -> None:
    heights = [height for _, height, _, _ in draw_lengths((0, 1, 600))]
    assert heights == [0, 1, 60]
    assert list(draw_lengths((0, 0))) == []
