"""Which program referees the games: ours, or fastchess where the server is another project's."""

from collections.abc import Iterator
from dataclasses import dataclass

from rookery.worker.fastchess.invocation import Unspeakable
from rookery.worker.match.fastchess import FastchessMatch, Files, invocation
from rookery.worker.match.job import PairJob, Setup
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

    def match(
        self,
        jobs: Iterator[PairJob],
        sides: tuple[EngineSpec, EngineSpec],
        files: Files,
        pairs: int,
    ) -> Match:
        """By fastchess where it is to play; it finds its openings itself. Raises TaskFailed."""
        if not self.fastchess:
            return self.builtin(jobs)
        try:
            wanted = invocation(sides, self.setup, files, pairs=pairs, concurrency=self.slots)
        except Unspeakable as fault:
            raise TaskFailed(f"fastchess cannot play {fault}.") from None
        return FastchessMatch(self.fastchess, wanted)
