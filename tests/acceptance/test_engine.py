"""The engine as a process: as a match runner meets it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import chess
import pytest

from tests.places import IMPORTED

COMMAND = [sys.executable, "-m", "rookery.match.fledgling"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": IMPORTED}


class Engine:
    """One running engine, spoken to line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def tell(self, *lines: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in lines))
        self.process.stdin.flush()

    def hear(self, beginning: str) -> str:
        """The next line that begins so; what comes before it is passed over."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line.strip()
        raise AssertionError(f"the engine left without saying {beginning}")


@contextmanager
def running() -> Iterator[Engine]:
    with subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            yield Engine(process)
        finally:
            process.kill()


def test_it_introduces_itself_and_leaves_when_told() -> None:
    with running() as engine:
        engine.tell("uci")
        assert engine.hear("id name").startswith("id name Fledgling")
        engine.hear("uciok")
        engine.tell("quit")
        assert engine.process.wait(timeout=60) == 0


def test_it_leaves_when_nobody_is_there_any_more() -> None:
    with running() as engine:
        engine.tell("go infinite")
        engine.hear("info")
        assert engine.process.stdin is not None
        engine.process.stdin.close()
        assert engine.process.wait(timeout=60) == 0


def test_it_stops_in_the_middle_of_a_search() -> None:
    with running() as engine:
        engine.tell("go infinite")
        engine.hear("info depth 3")
        engine.tell("isready")
        engine.hear("readyok")
        engine.tell("stop")
        engine.hear("bestmove")


@pytest.mark.parametrize(("seed", "words", "typed"), [("0", ("bench",), ""), ("1", (), "bench\n")])
def test_the_bench_is_the_same_in_every_process(
    seed: str, words: tuple[str, ...], typed: str
) -> None:
    """Strings hash differently from process to process; the search must not notice."""
    said = subprocess.run(
        [*COMMAND, *words],
        env={**environment(), "PYTHONHASHSEED": seed},
        input=typed,
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.split()[:2] == ["30939", "nodes"]
    assert said.stdout.split()[3] == "nps"


def played(white: Engine, black: Engine, nodes: int) -> chess.Board:
    """A game to its end, or to the 200th move; an illegal move raises."""
    board = chess.Board()
    for engine in (white, black):
        engine.tell("ucinewgame")
    while not board.is_game_over(claim_draw=True) and board.fullmove_number < 200:
        engine = white if board.turn else black
        moves = " ".join(move.uci() for move in board.move_stack)
        engine.tell(f"position startpos moves {moves}", f"go nodes {nodes}")
        board.push_uci(engine.hear("bestmove").split()[1])
    return board


def test_it_plays_a_whole_game_against_itself_without_an_illegal_move() -> None:
    with running() as engine:
        assert played(engine, engine, nodes=60).fullmove_number > 10


def test_it_beats_itself_without_quiescence_with_both_colours() -> None:
    with running() as strong, running() as weak:
        weak.tell("setoption name Quiescence value false")
        assert played(strong, weak, nodes=200).result() == "1-0"
        assert played(weak, strong, nodes=200).result() == "0-1"
