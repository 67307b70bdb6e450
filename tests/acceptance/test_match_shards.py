"""Matches over processes: where their engines run, and how late they say they are."""

import asyncio
import os
import sys
from dataclasses import replace
from pathlib import Path

from rookery.match.job import EngineSpec, Event, LatencyMeasured, PairEnded, PairJob
from rookery.match.openings import STANDARD
from rookery.match.sharded import ShardedMatch
from tests.engines.matches import SHORT, mover

# Notes the processors it may use, then becomes the engine.
NOTING = (
    "import os, sys; "
    "open(f'{sys.argv[1]}/{os.getpid()}', 'w').write(repr(sorted(os.sched_getaffinity(0)))); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def noting(engine: EngineSpec, folder: Path) -> EngineSpec:
    command = (sys.executable, "-S", "-c", NOTING, str(folder), *engine.command)
    return replace(engine, command=command)


def events_of(match: ShardedMatch) -> list[Event]:
    async def follow() -> list[Event]:
        async with match:
            return [event async for event in match]

    return asyncio.run(follow())


def test_engines_stay_on_the_processors_of_their_node(tmp_path: Path) -> None:
    usable = sorted(os.sched_getaffinity(0))
    nodes = (frozenset(usable[:1]), frozenset(usable[-1:]))
    first, second = noting(mover("a"), tmp_path), noting(mover("b"), tmp_path)
    jobs = (PairJob(number, STANDARD, first, second) for number in range(2))
    events_of(ShardedMatch(jobs, SHORT, concurrency=2, nodes=nodes))
    seen = sorted(note.read_text() for note in tmp_path.iterdir())
    assert seen == sorted(repr(sorted(node)) for node in nodes for _ in ("a", "b"))


def test_latency_is_told_while_the_match_goes_on() -> None:
    jobs = (PairJob(number, STANDARD, mover("a"), mover("b")) for number in range(2))
    events = events_of(ShardedMatch(jobs, SHORT))
    told = [event for event in events if isinstance(event, LatencyMeasured)]
    assert [one.last for one in told] == [*[False] * (len(told) - 1), True]
    assert 0 < told[0].latency.plies < told[-1].latency.plies
    first_pair = next(event for event in events if isinstance(event, PairEnded))
    assert events.index(told[0]) < events.index(first_pair)
