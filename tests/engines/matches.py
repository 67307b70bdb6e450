"""Matches between test engines, played to their end on the test's own loop."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rookery.match.clock import Latency
from rookery.match.game import LocalMatch
from rookery.match.job import (
    Adjudication,
    EngineSpec,
    EngineTimeouts,
    GameEnded,
    GameResult,
    LatencyMeasured,
    PairEnded,
    PairJob,
    PairResult,
    Setup,
)
from rookery.match.openings import STANDARD, Opening
from tests.process_table import remaining_processes

MOVER = Path(__file__).with_name("mover.py")
SHORT = Setup(
    adjudication=Adjudication(most_moves=8),
    timeouts=EngineTimeouts(start=30.0, ready=4.0, quit=0.3),
)


def mover(
    name: str, *words: str, tc: str = "N=1", options: Sequence[tuple[str, str]] = ()
) -> EngineSpec:
    command = (sys.executable, "-S", str(MOVER), *words)
    return EngineSpec(name, command, tuple(options), tc, environment=_environment())


def movers_left() -> dict[int, str]:
    """The engines of this process's matches that still run, and what they started."""
    return remaining_processes("=".join(_mark()), within=("environ",))


def _environment() -> tuple[tuple[str, str], ...]:
    """Without the site module, which takes as long as the rest of a start."""
    import chess

    modules = str(Path(chess.__file__).parents[1])
    return (("PYTHONPATH", modules), ("PATH", os.environ["PATH"]), _mark())


def _mark() -> tuple[str, str]:
    """Tells them from the engines of tests that other processes run at the same time."""
    return "MOVER_OF", f"process {os.getpid()}."


@dataclass
class Played:
    """What a match brought."""

    games: list[GameResult] = field(default_factory=list)
    pairs: list[PairResult] = field(default_factory=list)
    latency: Latency = field(default_factory=Latency.fresh)


async def play(
    first: EngineSpec,
    second: EngineSpec,
    *,
    pairs: int = 1,
    setup: Setup = SHORT,
    opening: Opening = STANDARD,
    concurrency: int = 1,
) -> Played:
    played = Played()
    jobs = (PairJob(number, opening, first, second) for number in range(pairs))
    async with LocalMatch(jobs, setup, concurrency=concurrency) as match:
        async for event in match:
            if isinstance(event, GameEnded):
                played.games.append(event.result)
            elif isinstance(event, PairEnded):
                played.pairs.append(event.pair)
            elif isinstance(event, LatencyMeasured):
                played.latency = event.latency
    return played
