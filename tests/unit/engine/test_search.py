"""The search finds mates and material, keeps its node limit and does the same every time."""

import random

import chess
import pytest

from tests.unit.engine.table import best_move, thought


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
    assert best_move(thought(f"fen {fen}", "nodes 3000")) == move


def test_it_does_not_take_a_defended_pawn_with_its_queen() -> None:
    said = thought("fen 4k3/2p5/3p4/8/8/8/3Q4/4K3 w - - 0 1", "depth 1")
    assert best_move(said) != "d2d6"


def test_a_position_that_was_there_before_is_a_draw() -> None:
    queen_odds = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNB1KBNR w KQkq - 0 1"
    said = thought(f"fen {queen_odds} moves g1f3 g8f6 f3g1", "depth 3 searchmoves f6g8")
    assert "score cp 0 " in said[-2]


@pytest.mark.parametrize("nodes", [1, 2, 100, 1234])
def test_a_node_limit_is_kept_exactly(nodes: int) -> None:
    said = thought("startpos", f"nodes {nodes}")
    assert all(int(line.split(" nodes ")[1].split()[0]) <= nodes for line in said[:-1])
    assert chess.Move.from_uci(best_move(said)) in chess.Board().legal_moves


def without_times(said: list[str]) -> list[str]:
    return [line.split(" nps ")[0] + line.partition(" pv ")[2] for line in said]


def test_the_same_nodes_give_the_same_lines() -> None:
    position = "startpos moves e2e4 c7c5 g1f3"
    first, second = (thought(position, "nodes 1500") for _ in range(2))
    assert without_times(first) == without_times(second)


def test_the_depth_is_kept() -> None:
    said = thought("startpos", "depth 3")
    assert [line.split()[2] for line in said[:-1]] == ["1", "2", "3"]


def test_the_moves_searched_can_be_given() -> None:
    assert best_move(thought("startpos", "depth 2 searchmoves a2a3")) == "a2a3"


def wandered(seed: int) -> chess.Board:
    """A position somewhere in a game of Fischer random chess played by chance."""
    chance = random.Random(seed)
    board = chess.Board.from_chess960_pos(chance.randrange(960))
    for _ in range(chance.randrange(120)):
        if board.is_game_over():
            return wandered(seed + 1000)
        board.push(chance.choice(list(board.legal_moves)))
    return board


@pytest.mark.parametrize("seed", range(12))
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
