"""The real fastchess: engines that crash, kills and signals, and the same games as ours, by move.

    scripts/prove fastchess [--program FILE] [--only NAME ...] [--games N]

Without --program it is the fastchess on the PATH. Each part prints what it found and whether it
holds.
"""

import argparse
import io
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import chess.pgn

from rookery.core.errors import describe_exit
from rookery.match.fastchess import find_fastchess
from tests.engines.matches import MOVER
from tests.process_table import processes_of, remaining_processes

DELAYS = (0.001, 0.005, 0.01, 0.03)
LIMIT_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Bench:
    """A folder to play in, with fastchess first on the PATH."""

    folder: Path
    program: str
    games: int

    def engine(self, name: str, *words: str, outlived: bool = False) -> str:
        """A program without arguments; one that is outlived leaves its starter for a second."""
        command = shlex.join((sys.executable, str(MOVER), *words))
        text = f"{command}\nexec 0<&-\nsleep 1\n" if outlived else f"exec {command}\n"
        file = self.folder / name
        file.write_text(f"#!/bin/sh\n{text}")
        file.chmod(0o755)
        return str(file)

    def start(self, *words: object) -> "subprocess.Popen[str]":
        path = f"{Path(self.program).parent}:{os.environ['PATH']}"
        return subprocess.Popen(
            [sys.executable, "-m", "rookery.cli.main", *map(str, words)],
            cwd=self.folder,
            env=os.environ | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *words: object) -> tuple[int, str]:
        process = self.start(*words)
        said, _ = process.communicate(timeout=600)
        return process.returncode, said

    def left(self) -> int:
        return len(remaining_processes(self.folder))


def crash(bench: Bench) -> bool:
    """An engine ends right after an answer, while what started it lives on a moment: fastchess
    then writes into a pipe without a reader. First as Python starts programs, then as we do."""
    bad = bench.engine("bad", "--misdeed", "depart=0.1", outlived=True)
    good = bench.engine("good")
    sides = [f"cmd={bad}", "name=bad", "tc=10+0.1", "-engine", f"cmd={good}", "name=good"]
    words = [bench.program, "-rounds", "10", "-repeat", "-recover", "-concurrency", "2"]
    words += ["-maxmoves", "20", "-config", "outname=/dev/null", "-engine", *sides, "tc=10+0.1"]
    bare = subprocess.run(words, cwd=bench.folder, capture_output=True, check=False)
    print(f"started without care: it {describe_exit(bare.returncode)}")
    held = 0
    for _ in range(4):
        code, said = bench.run(
            "match", "--runner", "fastchess", "--new", bad, "--base", good, "--tc", "10+0.1",
            "--games", 20, "--max-moves", 20, "--concurrency", 2,
        )  # fmt: skip
        held += code == 0 and "20 of 20" in said and "abandoned" in said
    print(
        f"{held} of 4 matches played all 20 games, crashes counted; {bench.left()} processes left"
    )
    return held == 4 and not bench.left()


def kill(bench: Bench) -> bool:
    """kill -9 of `rookery match` while both engines hang, at fixed nodes."""
    hung = bench.engine("hung", "--misdeed", "hang=1")
    found = []
    for runner in ("fastchess", "builtin"):
        match = bench.start(
            "match", "--runner", runner, "--new", hung, "--base", hung, "--tc", "N=1",
            "--games", 20, "--concurrency", 2,
        )  # fmt: skip
        deadline = time.monotonic() + LIMIT_SECONDS
        while sum("misdeed" in words for words in processes_of(bench.folder).values()) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        match.kill()
        match.communicate()
        found.append(bench.left())
        print(f"{runner}: {found[-1]} processes left")
    return not any(found)


def signals(bench: Bench) -> bool:
    """Two SIGTERMs, milliseconds apart, in the middle of games."""
    good = bench.engine("good")
    held = 0
    for runner in ("fastchess", "builtin"):
        for seconds in DELAYS:
            match = bench.start(
                "match", "--runner", runner, "--new", good, "--base", good, "--tc", "N=1",
                "--games", 100_000, "--concurrency", 2, "--resume-file", "signals.resume",
            )  # fmt: skip
            kept = bench.folder / "signals.resume"
            deadline = time.monotonic() + LIMIT_SECONDS
            while not kept.exists() or kept.read_bytes().count(b"\n") < 2:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            match.send_signal(signal.SIGTERM)
            time.sleep(seconds)
            match.send_signal(signal.SIGTERM)
            said, _ = match.communicate(timeout=LIMIT_SECONDS)
            held += match.returncode == 130 and "--resume signals.resume" in said
            kept.unlink()
    print(f"{held} of {2 * len(DELAYS)} ended in order; {bench.left()} processes left")
    return held == 2 * len(DELAYS) and not bench.left()


def resume(bench: Bench) -> bool:
    """A match that fastchess began is continued to its last game."""
    good = bench.engine("good")
    kept = bench.folder / "half.resume"
    words = ("--tc", "N=1", "--games", 12, "--max-moves", 20, "--resume-file", kept)
    bench.run("match", "--runner", "fastchess", "--new", good, "--base", good, *words)
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join(lines[:4]) + "\n")
    code, said = bench.run("match", "--resume", kept)
    print("\n".join(line for line in said.splitlines() if line.startswith(("warning", "Games"))))
    return code == 0 and "12 of 12" in said and "built-in runner plays the rest" in said


def same_games(bench: Bench) -> bool:
    """Engines whose moves depend on the position alone: both runners must play the same games."""
    one, other = bench.engine("one", "--seed", "1"), bench.engine("other", "--seed", "2")
    found = {}
    for runner in ("builtin", "fastchess"):
        file = bench.folder / f"{runner}.pgn"
        code, said = bench.run(
            "match", "--runner", runner, "--new", one, "--base", other, "--tc", "N=1",
            "--games", bench.games, "--concurrency", 2, "--pgn", file, "--max-moves", 150,
        )  # fmt: skip
        if code:
            print(said)
            return False
        found[runner] = played_in(file)
    theirs, ours = found["fastchess"], found["builtin"]
    same = sum(game == ours.get(name) for name, game in theirs.items())
    plies = sum(len(moves) for moves, _ in theirs.values())
    print(f"{same} of {len(theirs)} games the same, {plies} plies, results and ends too")
    return same == len(theirs) == len(ours) == bench.games


def played_in(file: Path) -> dict[str, tuple[tuple[str, ...], str]]:
    """Moves, result and kind of end of each game, by its position and White."""
    found, text = {}, io.StringIO(file.read_text())
    while game := chess.pgn.read_game(text):
        moves = tuple(move.uci() for move in game.mainline_moves())
        name = f"{game.headers.get('FEN', '')} {game.headers['White']}"
        name = name.replace("[", "(").replace("]", ")")
        found[name] = moves, f"{game.headers['Result']} {game.headers['Termination']}"
    return found


def unasked(bench: Bench) -> bool:
    """On the PATH and not asked for: the built-in runner plays, and its game can be replayed."""
    good = bench.engine("good")
    code, said = bench.run(
        "match", "--new", good, "--base", good, "--tc", "N=1", "--games", 2, "--max-moves", 10,
        "--pgn", "games.pgn",
    )  # fmt: skip
    print(next(line for line in said.splitlines() if "played by" in line))
    replayed, words = bench.run("replay", "games.pgn", 2)
    print(words.strip())
    return code == replayed == 0 and "built-in runner" in said


PARTS: dict[str, Callable[[Bench], bool]] = {
    part.__name__: part for part in (crash, kill, signals, resume, same_games, unasked)
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default="fastchess")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--games", type=int, default=100)
    asked = parser.parse_args()
    program = find_fastchess(str(shutil.which(asked.program)))
    if program is None:
        print("there is no fastchess here: put it on the PATH or give --program FILE")
        return 1
    print(f"{program.line}\n")
    held = True
    for name in asked.only:
        print(f"## {name}\n\n{(PARTS[name].__doc__ or '').strip()}\n", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            holds = PARTS[name](Bench(Path(folder), program.path, asked.games))
        held &= holds
        print(f"\n{'holds' if holds else 'DOES NOT HOLD'}\n", flush=True)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
