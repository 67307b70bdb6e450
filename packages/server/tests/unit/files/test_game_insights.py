"""What games tell besides their results."""

from dataclasses import replace

import pytest

from rookery.core.protocol.games import Ending, Game, Outcome
from rookery.server.files.game_insights import (
    describe_opening,
    find_insights,
    measure_phases,
    read_search,
)
from rookery.server.files.games import IndexedGame, add_up_games

WHITE, BLACK, DRAW = Outcome.WHITE, Outcome.BLACK, Outcome.DRAW


def game(
    number: int, outcome: Outcome, opening: str, ending: Ending = Ending.NORMAL
) -> IndexedGame:
    found = Game(outcome, ending, number % 2 == 0, 81, opening.encode(), 0)
    return IndexedGame(0, number, found)


def test_openings_that_one_colour_always_wins_are_found() -> None:
    games = [game(0, WHITE, "a"), game(1, WHITE, "a"), game(2, BLACK, "b"), game(3, WHITE, "b")]
    games += [game(4, DRAW, "c"), game(5, DRAW, "c"), game(6, BLACK, "d")]
    found = find_insights(games, ())
    assert (found.openings, found.white_always, found.black_always) == (3, 1, 0)
    assert [(each.winner, each.games) for each in found.lopsided] == [(WHITE, 2)]


def test_lengths_and_bad_endings_are_counted() -> None:
    bad = game(1, WHITE, "a", Ending.TIME_FORFEIT)
    found = find_insights([game(0, DRAW, "a"), bad], ())
    assert found.lengths[2] == 2
    assert found.bad == (bad,)


def test_games_add_up_by_the_way_they_ended() -> None:
    sums = add_up_games(each.game for each in (game(0, DRAW, "a"), game(2, DRAW, "b")))
    (only,) = sums
    assert (only.outcome, only.new_is_white, only.games, only.plies) == (DRAW, True, 2, 162)


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("+0.35/14 0.254s, n=12345", (0.254, 14, 12345)),
        ("-M5/33 1.5s", (1.5, 33, 0)),
        ("book", (None, 0, 0)),
        ("White mates", (None, 0, 0)),
        ("x" * 100_000, (None, 0, 0)),
    ],
)
def test_a_runners_words_behind_a_move_are_read(
    comment: str, found: tuple[float | None, int, int]
) -> None:
    assert read_search(comment) == found


def test_the_speed_of_each_side_is_measured_by_phase() -> None:
    head = '[Event "x"]\n[White "Base-master"]\n[Black "New-idea"]\n\n'
    text = head + "1. e4 {+0.1/10 0.200s, n=100} e5 {-0.1/12 0.100s, n=300} *\n"
    new, base = measure_phases([text])
    assert (new.is_new, new.depth, new.nodes_per_second) == (True, 12.0, 3000.0)
    assert (base.is_new, base.seconds) == (False, 0.2)


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ('[FEN "8/8/8/8/8/8/8/K1k5 w - - 3 9"]\n', "8/8/8/8/8/8/8/K1k5 w - -"),
        ("", "e4 e5 Nf3"),
    ],
)
def test_an_opening_is_told_by_its_position_or_its_moves(head: str, told: str) -> None:
    assert describe_opening(f'[Event "x"]\n{head}\n1. e4 {{0.1s}} e5 2. Nf3 *\n') == told


def test_the_sample_of_an_opening_is_a_game_that_is_here() -> None:
    gone, here = game(0, WHITE, "a"), replace(game(1, WHITE, "a"), blob="b")
    (opening,) = find_insights([gone, here], ()).lopsided
    assert opening.sample is here
