"""The table of positions: mates counted from the position, and emptied when full."""

import chess
import pytest

from rookery.engine.evaluation import MATE, as_uci
from rookery.engine.ordering import (
    ENTRIES_PER_MEGABYTE,
    Bound,
    Entry,
    Table,
    decides,
    from_here,
    from_root,
    key_of,
)


def test_positions_that_differ_in_castling_alone_are_different() -> None:
    board = chess.Board()
    without = chess.Board()
    without.castling_rights = 0
    assert key_of(board) != key_of(without)


@pytest.mark.parametrize("score", [0, 150, MATE - 7, 7 - MATE])
def test_a_score_comes_back_as_it_went_in(score: int) -> None:
    assert from_root(from_here(score, 5), 5) == score


def test_a_mate_found_elsewhere_in_the_tree_is_as_far_as_it_is() -> None:
    assert from_root(from_here(MATE - 7, 4), 2) == MATE - 5


def test_a_full_table_is_emptied() -> None:
    table, entry = Table(1), Entry(1, 0, Bound.EXACT, None)
    key = key_of(chess.Board())
    for number in range(ENTRIES_PER_MEGABYTE):
        table.put((number, *key[1:]), entry)
    assert table.permille_full() == 1000
    table.put(key, entry)
    assert table.permille_full() == 0
    assert table.get(key) == entry


@pytest.mark.parametrize(
    ("bound", "score", "answer"),
    [
        (Bound.EXACT, 5, True),
        (Bound.LOWER, 20, True),
        (Bound.LOWER, 5, False),
        (Bound.UPPER, -20, True),
        (Bound.UPPER, 5, False),
    ],
)
def test_a_bound_answers_only_what_it_bounds(bound: Bound, score: int, answer: bool) -> None:
    assert decides(Entry(1, score, bound, None), -10, 10, score) is answer


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (31, "cp 31"),
        (-4, "cp -4"),
        (MATE - 1, "mate 1"),
        (MATE - 4, "mate 2"),
        (4 - MATE, "mate -2"),
    ],
)
def test_scores_are_written_as_uci_wants(score: int, text: str) -> None:
    assert as_uci(score) == text
