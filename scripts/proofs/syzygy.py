"""Games are adjudicated by real Syzygy tables: those that python-chess's source distribution has.

    scripts/prove syzygy

The tables are fetched into a temporary folder and nothing of them is kept.
"""

import asyncio
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import chess

from rookery.match.job import Adjudication, EngineTimeouts, GameResult, Setup, Termination
from rookery.match.openings import Opening
from rookery.match.referee import make_probe, open_tables
from tests.engines.matches import mover, play

BY_TABLES = "Decided by tablebase"
KNOWN = {
    "8/8/8/8/8/4k3/8/4K2Q w - - 0 1": 1,
    "8/8/8/8/8/4k3/8/4K2Q b - - 0 1": -1,
    "8/8/8/8/8/4k3/8/4K2R w - - 0 1": 1,
    "8/8/8/8/8/4k3/8/4K2B w - - 0 1": 0,
    "8/8/8/8/8/4k3/8/4K2N w - - 0 1": 0,
    "4k3/8/4K3/4P3/8/8/8/8 w - - 0 1": 1,
    "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1": 0,
    "8/8/8/8/8/2k5/8/K1NB4 w - - 0 1": 1,
}
# Black soon takes the pawn on b7, and the rest is a win or a draw by the tables.
CAPTURES = {
    "won": ("k7/1P6/8/8/8/8/8/K6R b - - 0 1", "1-0"),
    "drawn": ("k7/1P6/8/8/8/8/P7/K7 b - - 0 1", "1/2-1/2"),
}


def fetch(folder: Path) -> Path:
    """The tables of the installed version's source distribution."""
    wanted = f"chess=={version('chess')}"
    words = ["-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", "-d", str(folder)]
    subprocess.run([sys.executable, *words, wanted], check=True, capture_output=True)
    with tarfile.open(next(folder.glob("chess-*.tar.gz"))) as archive:
        archive.extractall(folder, filter="data")
    return next(folder.glob("chess-*/data/syzygy/regular"))


def check_values(tables: Path) -> int:
    """Checks positions whose value is in every textbook; returns their number."""
    with open_tables([str(tables)]) as opened:
        probe = make_probe(opened)
        for fen, value in KNOWN.items():
            assert probe(chess.Board(fen)) == value, fen
        assert probe(chess.Board("8/8/8/8/8/4k3/8/4K2Q w - - 5 9")) is None
    return len(KNOWN)


async def games(tables: Path, fen: str, men: int) -> list[GameResult]:
    setup = Setup(
        adjudication=Adjudication(syzygy_men=men, most_moves=20),
        syzygy=(str(tables),),
        timeouts=EngineTimeouts(start=30.0, ready=5.0, quit=0.5),
    )
    return (await play(mover("a"), mover("b"), setup=setup, opening=Opening(fen))).games


def check_games(tables: Path) -> int:
    """Checks that the tables decide after a capture leads into them, and that they do not with
    fewer men allowed."""
    played = 0
    for name, (fen, result) in CAPTURES.items():
        asked = asyncio.run(games(tables, fen, 3))
        left = asyncio.run(games(tables, fen, 2))
        assert [one.result for one in asked] == [result] * 2, (name, asked)
        assert {one.termination for one in asked} == {Termination.ADJUDICATION}, asked
        assert {one.reason for one in asked} == {BY_TABLES}, asked
        assert BY_TABLES not in {one.reason for one in left}, left
        played += len(asked) + len(left)
    return played


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        tables = fetch(Path(folder))
        sizes = Counter(len(path.stem) - 1 for path in tables.glob("*.rtbw"))
        counts = ", ".join(f"{count} of {men}" for men, count in sorted(sizes.items()))
        print(f"tables by men: {counts}")
        print(f"{check_values(tables)} positions have the value that is known of them")
        print(f"{check_games(tables)} games: a capture into the tables ends them with their value")
    return 0


if __name__ == "__main__":
    sys.exit(main())
