"""A match in batches: who plays in them, and how they end."""

import asyncio
import sys
from dataclasses import replace
from pathlib import Path

from rookery.match.job import EngineSpec, Event, PairEnded, PairJob
from rookery.match.openings import STANDARD
from rookery.match.sharded import BatchedMatch, MatchBatch
from tests.engines.matches import SHORT, mover

# Notes that it started, then becomes the engine.
NOTING = (
    "import os, sys; open(f'{sys.argv[1]}/{os.getpid()}', 'w').close(); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def noting(engine: EngineSpec, folder: Path) -> EngineSpec:
    command = (sys.executable, "-S", "-c", NOTING, str(folder), *engine.command)
    return replace(engine, command=command)


def pairs_of(events: list[Event]) -> list[int]:
    return sorted(event.pair.number for event in events if isinstance(event, PairEnded))


def test_engines_keep_their_places_though_options_change_between_batches(tmp_path: Path) -> None:
    first, second = noting(mover("a"), tmp_path), noting(mover("b"), tmp_path)

    async def played() -> list[list[int]]:
        found = []
        async with BatchedMatch(SHORT, nodes=()) as match:
            for value in ("1", "2", "3"):
                tuned = replace(first, options=(("Value", value),))
                jobs = [PairJob(number, STANDARD, tuned, second) for number in range(2)]
                async with MatchBatch(match, jobs) as batch:
                    found.append(pairs_of([event async for event in batch]))
        return found

    assert asyncio.run(played()) == [[0, 1]] * 3
    assert len(list(tmp_path.iterdir())) == 2


def test_a_match_that_is_left_in_the_middle_of_a_batch_ends_at_once() -> None:
    first, second = mover("a"), mover("b")
    jobs = (PairJob(number, STANDARD, first, second) for number in range(10**6))

    async def left() -> int:
        async with BatchedMatch(SHORT, nodes=()) as match, MatchBatch(match, jobs) as batch:
            async for event in batch:
                if isinstance(event, PairEnded):
                    return event.pair.number
        return -1

    assert asyncio.run(left()) == 0
