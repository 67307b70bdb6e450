"""What the flags of a match do to its engines, rules, openings and bounds."""

import math
from pathlib import Path

import chess
import pytest

from rookery.match.commands.match import count_rounds, make_sprt, read_field
from rookery.match.commands.options import choose_concurrency, load_book, make_openings, make_setup
from rookery.match.engine_output import Score
from rookery.match.position import Position
from rookery.match.referee import GameEnd, Referee
from tests.unit.match.commands.test_match import SIDES, parsed

MOVES = ("g1f3", "g8f6", "b1c3", "b8c6", "h1g1", "h8g8")
ENDGAME = "4k3/8/8/8/8/8/8/R3K3 w - - 0 1"
LOST = (-700, 700) * 3
QUIET = (0,) * 6


@pytest.mark.parametrize(
    ("words", "new", "base"),
    [
        (("--tc", "N=5"), "N=5", "N=5"),
        (("--new-tc", "N=5"), "N=5", "10+0.1"),
        (("--base-tc", "N=5"), "10+0.1", "N=5"),
    ],
)
def test_a_time_control_is_for_whom_it_is_given(
    words: tuple[str, ...], new: str, base: str
) -> None:
    assert tuple(each.tc for each in read_field(parsed(*SIDES, *words)).engines) == (new, base)


@pytest.mark.parametrize(
    ("words", "new", "base"),
    [
        (("--threads", "3"), 3, 3),
        (("--new-threads", "3"), 3, 1),
        (("--base-threads", "3"), 1, 3),
    ],
)
def test_threads_are_for_whom_they_are_given(words: tuple[str, ...], new: int, base: int) -> None:
    engines = read_field(parsed(*SIDES, *words)).engines
    assert tuple(each.threads for each in engines) == (new, base)


@pytest.mark.parametrize(
    ("words", "new", "base"),
    [
        (("--option", "A=1", "--option", "B=2"), {"A": "1", "B": "2"}, {"A": "1", "B": "2"}),
        (("--new-option", "A=1", "--new-option", "B=2"), {"A": "1", "B": "2"}, {}),
        (("--base-option", "A=1", "--base-option", "B=2"), {}, {"A": "1", "B": "2"}),
    ],
)
def test_options_are_for_whom_they_are_given(
    words: tuple[str, ...], new: dict[str, str], base: dict[str, str]
) -> None:
    engines = read_field(parsed(*SIDES, *words)).engines
    assert [dict(each.options) for each in engines] == [new, base]


def end(*words: str, scores: tuple[int, ...], moves: tuple[str, ...] = MOVES) -> GameEnd | None:
    """How a game ends by the rules of these flags, and None while it goes on."""
    position = Position(chess.STARTING_FEN)
    referee = Referee(make_setup(parsed(*SIDES, *words)).adjudication, lambda _: 1)
    for move, score in zip(moves, scores, strict=True):
        position.play(move)
        if verdict := referee.judge_move(position, Score(score)):
            return verdict
    return None


@pytest.mark.parametrize(
    ("words", "scores", "result"),
    [
        ((), LOST, "0-1"),
        (("--no-adjudication",), LOST, None),
        (("--resign", "4", "600"), LOST, None),
        (("--resign", "3", "701"), LOST, None),
        ((), (-700, 0) * 3, "0-1"),
        (("--two-sided",), (-700, 0) * 3, None),
        (("--draw", "1", "1", "0"), QUIET, "1/2-1/2"),
        ((), QUIET, None),
        (("--max-moves", "2"), QUIET, "1/2-1/2"),
        (("--max-moves", "4"), QUIET, None),
    ],
)
def test_a_game_ends_by_the_rules_that_are_asked_for(
    words: tuple[str, ...], scores: tuple[int, ...], result: str | None
) -> None:
    verdict = end(*words, scores=scores)
    assert (verdict.result if verdict else None) == result


@pytest.mark.parametrize(("men", "result"), [("2", None), ("3", "1-0")])
def test_tablebases_decide_up_to_the_men_they_are_said_to_have(
    men: str, result: str | None
) -> None:
    rules = make_setup(parsed(*SIDES, "--syzygy", "/tb", "--syzygy-men", men)).adjudication
    verdict = Referee(rules, lambda _: 1).judge_opening(Position(ENDGAME))
    assert (verdict.result if verdict else None) == result


BOOK = """\
4k3/8/8/8/8/8/4P3/4K3 w - - 0 1
4k3/8/8/8/8/8/3P4/4K3 w - - 0 1
4k3/8/8/8/8/8/2P5/4K3 w - - 0 1
4k3/8/8/8/8/8/1P6/4K3 w - - 0 1
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "four.epd"
    path.write_text(BOOK)
    return path


def openings(*words: str) -> list[int]:
    """Return the places in the book of the openings of the first four pairs."""
    flags = parsed(*SIDES, *words)
    opening = make_openings(flags, load_book(flags))
    lines = [line.split()[0] for line in BOOK.splitlines()]
    return [lines.index(opening(pair).fen.split()[0]) for pair in range(4)]


def test_openings_come_in_the_order_of_the_book_where_that_is_asked_for(book: Path) -> None:
    assert openings("--book", str(book), "--seed", "2") != [0, 1, 2, 3]
    sequential = ("--book", str(book), "--seed", "2", "--order", "sequential")
    assert openings(*sequential) == [0, 1, 2, 3]
    assert openings(*sequential, "--start", "3") == [2, 3, 0, 1]


def test_another_seed_is_another_order_and_the_same_seed_is_the_same(book: Path) -> None:
    orders = [openings("--book", str(book), "--seed", str(seed)) for seed in range(1, 9)]
    assert len(set(map(tuple, orders))) > 1
    assert openings("--book", str(book), "--seed", "8") == orders[-1]


@pytest.mark.parametrize(
    ("words", "moves"), [((), 6), (("--book-depth", "2"), 4), (("--book-depth", "0"), 0)]
)
def test_a_book_of_games_is_played_as_deep_as_is_asked_for(
    words: tuple[str, ...], moves: int, tmp_path: Path
) -> None:
    file = tmp_path / "one.pgn"
    file.write_text("1. Nf3 Nf6 2. Nc3 Nc6 3. Rg1 Rg8 *\n")
    flags = parsed(*SIDES, "--book", str(file), *words)
    assert len(make_openings(flags, load_book(flags))(0).moves) == moves


def test_positions_of_fischer_random_are_played_from_a_book_of_any_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.epd"
    file.write_text("bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf -\n")
    flags = parsed(*SIDES, "--book", str(file), "--chess960")
    assert make_openings(flags, load_book(flags))(0).fen.startswith("bqnb1rkr")


def test_so_many_games_are_played_at_a_time() -> None:
    assert choose_concurrency(parsed(*SIDES, "--concurrency", "3"), threads=1) == 3


def test_so_many_games_are_played_at_most() -> None:
    assert count_rounds(parsed(*SIDES, "--games", "6"), None) == 3


def test_the_chances_of_error_move_the_bounds_of_a_match() -> None:
    flags = parsed(*SIDES, "--sprt", "0", "5", "--alpha", "0.01", "--beta", "0.2")
    test = make_sprt(flags, read_field(flags))
    assert test is not None
    assert (test.lower, test.upper) == pytest.approx((math.log(0.2 / 0.99), math.log(80)))


def test_the_bounds_of_a_match_are_on_the_scale_that_is_asked_for() -> None:
    ratios = set[float]()
    for model in ("normalized", "logistic"):
        flags = parsed(*SIDES, "--sprt", "0", "5", "--model", model)
        test = make_sprt(flags, read_field(flags))
        assert test is not None
        ratios.add(test.log_ratio((10, 50, 120, 70, 14)))
    assert len(ratios) == 2
