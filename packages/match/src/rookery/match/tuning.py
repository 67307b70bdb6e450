"""Tunes an engine's options by games against itself: hands out perturbed pairs, and applies
results.

Each pair has its own perturbation and moves the values as soon as it ends, so that later pairs
start from better values.
"""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from rookery.core.stats.spsa import (
    Issued,
    PerturbationDraw,
    Tune,
    TuneBatch,
    as_mapping,
    fold,
    packed_size,
    perturb_final,
)
from rookery.match.job import EngineSpec, Openings, PairJob
from rookery.match.pgn import JournalEntry
from rookery.match.results import PairScore

PLUS, MINUS = "plus", "minus"


class Tuner:
    """A tune in progress. Only the task that follows the match writes to it."""

    def __init__(self, tune: Tune, engine: EngineSpec, openings: Openings, chance: Random) -> None:
        self.tune = tune
        self._engine = engine
        self._openings = openings
        self._chance = chance
        self._number = 0
        self._issued: dict[int, Issued] = {}

    def jobs(self) -> Iterator[PairJob]:
        """Yield the pairs. Each is perturbed around the values of the moment when it is
        requested."""
        while self.tune.iteration + len(self._issued) < self.tune.schedule.iterations:
            yield self._job(self._number)

    def after(self, pair: PairScore) -> JournalEntry:
        """Move the values by a result. Returns what a resumed tune needs to repeat this."""
        issued = self._issued.pop(pair.number)
        self.tune = _moved(self.tune, issued, pair)
        return JournalEntry(pair, issued.iteration, issued.packed_flips.hex())

    def recall(self, entry: JournalEntry) -> None:
        """Move the values by a pair of an earlier session."""
        issued = Issued(entry.iteration, bytes.fromhex(entry.flips), final=True)
        self.tune = _moved(self.tune, issued, entry.pair)
        self._number = max(self._number, entry.pair.number + 1)

    def _job(self, number: int) -> PairJob:
        self._number += 1
        count = len(self.tune.parameters)
        draw = PerturbationDraw(
            self._chance.randbytes(packed_size(count)),
            tuple(self._chance.random() for _ in range(count)),
        )
        (perturbation,) = perturb_final(self.tune, [draw])
        self._issued[number] = perturbation.issued
        return PairJob(
            number,
            self._openings(number),
            self._side(PLUS, perturbation.new),
            self._side(MINUS, perturbation.base),
        )

    def _side(self, name: str, values: tuple[float, ...]) -> EngineSpec:
        tuned = as_mapping(self.tune, values)
        fixed = tuple(option for option in self._engine.options if option[0] not in tuned)
        return replace(self._engine, name=name, options=(*fixed, *tuned.items()))


def _moved(tune: Tune, issued: Issued, pair: PairScore) -> Tune:
    results = pair.results
    return fold(tune, issued, TuneBatch(2, results.wins, results.losses, issued.signature))
