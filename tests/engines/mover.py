"""A UCI engine that plays seeded random moves at once, and misbehaves as often as it is told to.

    python mover.py [--seed N] [--noise] [--misdeed NAME=CHANCE ...] [bench]

The move depends on the position and the seed alone, unless there is noise. Before a misdeed it says
`info string misdeed NAME`, so that a test can compare what it did with how its game was scored.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable

import chess

FOREVER = 3600.0
OPTIONS = (
    "UCI_Chess960 type check default false",
    "Infos type spin default 1 min 0 max 10000",
    "Sleep type string default 0.5",
    "Share type string default 0",
)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def crash() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave() -> None:
    sys.stderr.write("assertion failed: everything\n")
    sys.stderr.flush()
    os._exit(1)


def hang() -> None:
    time.sleep(FOREVER)


def close() -> None:
    """Close the pipes but live on."""
    for number in (0, 1):
        os.close(number)
    time.sleep(FOREVER)


def illegal() -> None:
    say("bestmove a1a1")


def gibberish() -> None:
    say("bestmove \x1b[31mKxg7!!\xff")


def none() -> None:
    say("bestmove (none)")


def flood() -> None:
    """Write as fast as the pipe takes it, and never answer."""
    line = b"info depth 1 currmove e2e4 currmovenumber 1\n" * 1000
    while True:
        os.write(1, line)


def endless() -> None:
    """One line without an end."""
    while True:
        os.write(1, b"x" * 65536)


MISDEEDS: dict[str, Callable[[], None]] = {
    one.__name__: one
    for one in (crash, leave, hang, close, illegal, gibberish, none, flood, endless)
}


class Mover:
    def __init__(self, words: argparse.Namespace) -> None:
        self.words = words
        self.board = chess.Board()
        self.fen, self.played = "", ""
        self.options: dict[str, str] = {}
        # The chance of misdeeds differs from process to process, or a restart would repeat them.
        self.chance = random.Random(words.seed * 1_000_003 + os.getpid() + time.monotonic_ns())
        self.misdeeds = {
            name: float(chance)
            for name, _, chance in (text.partition("=") for text in words.misdeed)
        }

    def is_tempted(self, name: str) -> bool:
        if self.chance.random() >= self.misdeeds.get(name, 0.0):
            return False
        say(f"info string misdeed {name}")
        return True

    def position(self, words: list[str]) -> None:
        chess960 = self.options.get("UCI_Chess960") == "true"
        start, _, moves = " ".join(words[1:]).partition(" moves ")
        fen = chess.STARTING_FEN if start.startswith("startpos") else start.removeprefix("fen ")
        known = (
            len(self.played) if (fen, moves[: len(self.played)]) == (self.fen, self.played) else 0
        )
        if not known:
            self.board = chess.Board(fen, chess960=chess960)
        for move in moves[known:].split():
            self.board.push_uci(move)
        self.fen, self.played = fen, moves

    def go(self, words: list[str]) -> None:
        if share := float(self.options.get("Share", "0")):
            # An honest search that takes its share of the clock and no processor.
            left = words[words.index("wtime" if self.board.turn else "btime") + 1]
            time.sleep(int(left) * share / 100_000)
        for name, act in MISDEEDS.items():
            if self.is_tempted(name):
                act()
                return
        if self.is_tempted("slow"):
            time.sleep(float(self.options.get("Sleep", "0.5")))
        if self.is_tempted("chatter"):
            for _ in range(3000):
                say("info depth 1 seldepth 1 nodes 7 nps 7 time 1 pv e2e4 score")
        self.answer()

    def answer(self) -> None:
        moves = sorted(self.board.uci(move) for move in self.board.legal_moves)
        noise = self.chance.random() if self.words.noise else 0.0
        key = f"{self.words.seed} {noise} {self.board.fen()}".encode()
        move = moves[zlib.crc32(key) % len(moves)]
        score = zlib.crc32(key + b"score") % 61 - 30
        pv = f"{move} {move}" if self.is_tempted("pv") else move
        for depth in range(1, 1 + int(self.options.get("Infos", "1"))):
            say(f"info depth {depth} seldepth 2 score cp {score} nodes 42 nps 1000 time 1 pv {pv}")
        say(f"bestmove {move}")
        if self.is_tempted("depart"):
            # Whoever asks for its readiness now writes into a pipe without a reader.
            leave()

    def obey(self, line: str) -> bool:
        words = line.split()
        match words[:1]:
            case ["uci"]:
                say("id name mover")
                say("\n".join(f"option name {option}" for option in OPTIONS))
                say("uciok")
            case ["isready"]:
                if not self.is_tempted("deaf"):
                    say("readyok")
            case ["setoption"]:
                name, _, value = line.partition("name ")[2].partition(" value ")
                self.options[name.strip()] = value.strip()
            case ["position"]:
                self.position(words)
            case ["go"]:
                self.go(words)
            case ["quit"]:
                return "stubborn" in self.misdeeds
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", action="store_true")
    parser.add_argument("--misdeed", nargs="*", default=[])
    if sys.argv[-1] == "bench":
        say("1234 nodes 1000000 nps")
        return
    mover = Mover(parser.parse_args())
    if "stubborn" in mover.misdeeds:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        # A child that holds the pipes open, as a crashed shell script's does.
        subprocess.Popen([sys.executable, "-S", "-c", f"import time; time.sleep({FOREVER})"])
    for line in sys.stdin:
        if not mover.obey(line):
            return
    if "stubborn" in mover.misdeeds:
        time.sleep(FOREVER)


if __name__ == "__main__":
    main()
