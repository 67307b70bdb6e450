"""Fledgling finds mates and material, keeps its node limit and does the same every time."""

import random
from collections.abc import Mapping

import chess
import pytest

from rookery.match.fledgling import BENCH_POSITIONS
from rookery.match.fledgling_evaluation import DEFAULTS, Evaluation
from rookery.match.fledgling_search import (
    ENTRIES_PER_MEGABYTE,
    MATE,
    Bound,
    GameSoFar,
    PositionKey,
    Search,
    SearchedPosition,
    mate_shifted,
    position_key,
)
from tests.unit.match.fledgling import best_move, thought


def new_search(
    board: chess.Board,
    options: Mapping[str, int] = DEFAULTS,
    table: dict[PositionKey, SearchedPosition] | None = None,
) -> Search:
    return Search(
        board,
        (),
        options,
        Evaluation(options),
        {} if table is None else table,
        clock=lambda: 0.0,
        is_stopped=lambda: False,
    )


@pytest.mark.parametrize(
    ("fen", "move", "score"),
    [
        ("6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", "a1a8", "mate 1"),
        ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4", "h5f7", "mate 1"),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", "a1a6", "mate 2"),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", "f6a6", "mate 3"),
    ],
)
def test_it_mates_where_it_can(fen: str, move: str, score: str) -> None:
    said = thought(f"fen {fen}", "nodes 8000")
    assert best_move(said) == move
    assert f"score {score} " in said[-2]


def test_it_sees_that_it_will_be_mated() -> None:
    said = thought("fen 7k/8/8/8/8/1r6/r7/7K w - - 0 1", "depth 4")
    assert "score mate -1 " in said[-2]


@pytest.mark.parametrize(
    ("fen", "move"),
    [
        ("4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1", "e4d5"),
        ("7k/P7/8/8/8/8/8/K7 w - - 0 1", "a7a8q"),
        ("q3k3/8/8/3N4/8/8/8/4K3 w - - 0 1", "d5c7"),
    ],
    ids=["takes the queen", "promotes", "forks"],
)
def test_it_wins_material(fen: str, move: str) -> None:
    assert best_move(thought(f"fen {fen}", "nodes 600")) == move


def test_it_does_not_take_a_defended_pawn_with_its_queen() -> None:
    said = thought("fen 4k3/2p5/3p4/8/8/8/3Q4/4K3 w - - 0 1", "depth 1")
    assert best_move(said) != "d2d6"


def test_a_position_that_was_there_before_is_a_draw() -> None:
    queen_odds = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1"
    said = thought(f"fen {queen_odds} moves g1f3 g8f6 f3g1", "depth 3 searchmoves f6g8")
    assert "score cp 0 " in said[-2]


@pytest.mark.parametrize("nodes", [1, 2, 100, 345])
def test_a_node_limit_is_kept_exactly(nodes: int) -> None:
    said = thought("startpos", f"nodes {nodes}")
    assert all(int(line.split(" nodes ")[1].split()[0]) <= nodes for line in said[:-1])
    assert chess.Move.from_uci(best_move(said)) in chess.Board().legal_moves


def without_times(said: list[str]) -> list[str]:
    return [line.split(" nps ")[0] + line.partition(" pv ")[2] for line in said]


def test_the_same_nodes_give_the_same_lines() -> None:
    position = "startpos moves e2e4 c7c5 g1f3"
    first, second = (thought(position, "nodes 400") for _ in range(2))
    assert without_times(first) == without_times(second)


def test_the_depth_is_kept() -> None:
    said = thought("startpos", "depth 3")
    assert [line.split()[2] for line in said[:-1]] == ["1", "2", "3"]


def test_the_moves_searched_can_be_given() -> None:
    assert best_move(thought("startpos", "depth 2 searchmoves a2a3")) == "a2a3"


def wandered(seed: int) -> chess.Board:
    """Return a position somewhere in a game of Fischer random chess played by chance."""
    chance = random.Random(seed)
    board = chess.Board.from_chess960_pos(chance.randrange(960))
    for _ in range(chance.randrange(120)):
        if board.is_game_over():
            return wandered(seed + 1000)
        board.push(chance.choice(list(board.legal_moves)))
    return board


@pytest.mark.parametrize("seed", range(8))
def test_moves_and_expected_lines_are_legal_anywhere(seed: int) -> None:
    start = wandered(seed)
    option = "setoption name UCI_Chess960 value true"
    said = thought(f"fen {start.shredder_fen()}", "nodes 150", option)
    for line in (said[-1].removeprefix("bestmove "), *(info.partition(" pv ")[2] for info in said)):
        board = start.copy()
        for move in line.split():
            board.push_uci(move)


@pytest.mark.parametrize(
    ("fen", "score"),
    [("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "cp 0"), ("R5k1/5ppp/8/8/8/8/8/7K b - - 0 1", "mate 0")],
    ids=["stalemate", "checkmate"],
)
def test_when_the_game_is_over_there_is_no_move(fen: str, score: str) -> None:
    said = thought(f"fen {fen}", "depth 3")
    assert said == [said[0], "bestmove (none)"]
    assert f"score {score} " in said[0]


def test_without_quiescence_it_falls_for_a_simple_trap() -> None:
    trap = "fen 4k3/2p5/3p4/8/8/8/3Q4/4K3 w - - 0 1"
    said = thought(trap, "depth 1", "setoption name Quiescence value false")
    assert best_move(said) == "d2d6"


def test_positions_that_differ_in_castling_alone_are_different() -> None:
    board = chess.Board()
    without = chess.Board()
    without.castling_rights = 0
    assert position_key(board) != position_key(without)


@pytest.mark.parametrize("score", [0, 150, MATE - 7, 7 - MATE])
def test_a_score_comes_back_as_it_went_in(score: int) -> None:
    assert mate_shifted(mate_shifted(score, 5), -5) == score


def test_a_mate_found_elsewhere_in_the_tree_is_as_far_as_it_is() -> None:
    assert mate_shifted(mate_shifted(MATE - 7, 4), -2) == MATE - 5


def test_a_full_table_is_emptied() -> None:
    board, table = chess.Board(), dict[PositionKey, SearchedPosition]()
    key, found = position_key(board), SearchedPosition(1, 0, Bound.EXACT, None)
    for number in range(ENTRIES_PER_MEGABYTE):
        table[number, *key[1:]] = found
    search = new_search(board, {**DEFAULTS, "Hash": 1}, table)
    list(search.iterations(list(board.legal_moves), 1))
    assert len(table) < 100


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
    assert SearchedPosition(1, score, bound, None).decides(-10, 10, score) is answer


EXTRA = (
    "4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1",
    "4k3/P7/8/8/8/8/8/4K2R w K - 0 1",
    "4k3/8/8/8/7b/8/8/4K3 w - - 0 1",
)


@pytest.mark.parametrize("fen", [*BENCH_POSITIONS, *EXTRA])
def test_every_legal_move_comes_once(fen: str) -> None:
    board = chess.Board(fen)
    legal = list(board.legal_moves)
    moves = list(new_search(board).ordered_moves(legal[-1], 0))
    assert moves[0] == legal[-1]
    assert sorted(map(str, moves)) == sorted(map(str, legal))


def put(position: GameSoFar, words: str, *, chess960: bool = False) -> GameSoFar:
    position.set(words.split(), chess960=chess960)
    return position


def test_moves_are_played_from_the_start() -> None:
    position = put(GameSoFar(), "startpos moves e2e4 e7e5")
    assert position.board.fen().startswith("rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w")


def test_a_longer_game_gives_the_same_as_from_the_start() -> None:
    followed = put(put(GameSoFar(), "startpos moves e2e4"), "startpos moves e2e4 e7e5 g1f3")
    fresh = put(GameSoFar(), "startpos moves e2e4 e7e5 g1f3")
    assert (followed.board, followed.before) == (fresh.board, fresh.before)


def test_another_game_is_set_up_anew() -> None:
    position = put(put(GameSoFar(), "startpos moves e2e4"), "startpos moves d2d4 d7d5")
    assert position.board.piece_at(chess.E4) is None


def test_the_positions_before_are_remembered() -> None:
    position = put(GameSoFar(), "startpos moves g1f3 g8f6 f3g1 f6g8")
    assert position_key(chess.Board()) in position.before
    assert len(position.before) == 4


def test_a_position_may_be_given() -> None:
    fen = "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"
    assert put(GameSoFar(), f"fen {fen} moves e2e4").board.piece_at(chess.E4) is not None


def test_castling_in_fischer_random_takes_the_rook() -> None:
    position = put(GameSoFar(), "fen 4k3/8/8/8/8/8/8/4K2R w H - 0 1 moves e1h1", chess960=True)
    assert position.board.king(chess.WHITE) == chess.G1


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("", "startpos or fen"),
        ("fen", "startpos or fen"),
        ("nonsense", "startpos or fen"),
        ("fen 8/8/8 w - - 0 1", "8 rows"),
        ("fen 4k3/8/8/8/8/8/8/8 w - - 0 1", "needs a king"),
        ("startpos moves e2e5", "illegal uci"),
        ("startpos moves castle", "castle"),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(words: str, complaint: str) -> None:
    position = put(GameSoFar(), "startpos moves e2e4")
    before = position.board.fen()
    with pytest.raises(ValueError, match=complaint):
        put(position, words)
    assert position.board.fen() == before
