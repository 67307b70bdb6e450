"""Which program referees the games: ours, or fastchess where the server is another project's."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.worker.fastchess.invocation import Unspeakable
from rookery.worker.match.fastchess import FastchessMatch, Files, invocation
from rookery.worker.match.job import PairJob, Setup
from rookery.worker.match.lasting import LastingMatch
from rookery.worker.match.match import Match
from rookery.worker.match.sharded import ShardedMatch
from rookery.worker.match.spec import EngineSpec
from rookery.worker.session.faults import TaskFailed

BUILTIN = "builtin"
FASTCHESS = "fastchess"


@dataclass(frozen=True, slots=True)
class Runners:
    """What holds for all matches of a task; `fastchess` is its program, or empty."""

    setup: Setup
    slots: int
    nodes: tuple[frozenset[int], ...]
    fastchess: str = ""

    def builtin(self, jobs: Iterator[PairJob]) -> Match:
        return ShardedMatch(jobs, self.setup, concurrency=self.slots, nodes=self.nodes)

    def lasting(self) -> LastingMatch | None:
        """For matches one after the other; fastchess starts its engines for each of them."""
        if self.fastchess:
            return None
        return LastingMatch(self.setup, concurrency=self.slots, nodes=self.nodes)

    async def match(
        self,
        jobs: Iterator[PairJob],
        sides: tuple[EngineSpec, EngineSpec],
        files: Files,
        pairs: int,
        threads: Threads,
    ) -> Match:
        """By fastchess where it is to play; it finds its openings itself. Raises TaskFailed."""
        if not self.fastchess:
            return self.builtin(jobs)
        asked = partial(invocation, sides, self.setup, files, pairs=pairs, concurrency=self.slots)
        try:
            # It follows links, and so looks at the disk.
            return FastchessMatch(self.fastchess, await threads.io(asked))
        except Unspeakable as fault:
            raise TaskFailed(f"fastchess cannot play {fault}.") from None


def scripted(spec: EngineSpec, folder: Path) -> EngineSpec:
    """The same engine as a program without arguments: fastchess would split them at blanks."""
    script = folder / f"{spec.name.partition('-')[0].lower()}.sh"
    script.write_text(f"#!/bin/sh\nexec {shlex.join(spec.command)}\n", encoding="utf-8")
    script.chmod(0o700)
    return replace(spec, command=(str(script),))
