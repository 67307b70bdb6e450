"""Adds pairs up and says what there is to be reported.

Totals are absolute, so that a report whose answer was lost can be sent again.
"""

from collections.abc import Sequence
from typing import Protocol

from rookery.core.results import NOTHING, Results
from rookery.protocol.stats import stats_of
from rookery.protocol.worker.requests import SlotResult, SpsaResult
from rookery.worker.match.job import PairResult
from rookery.worker.session.conversation import Progress


class Ledger(Protocol):
    """Counts one match of a task; the one who follows the match writes it."""

    finished: int
    """Pairs of this match."""

    @property
    def total(self) -> Results:
        """All games of the task, reported or not."""
        ...

    def add(self, pair: PairResult) -> Progress | None:
        """What to report now that this pair is there, if anything."""
        ...

    def rest(self) -> Progress | None:
        """What can be reported before a batch is whole, where something can."""
        ...


class GamesLedger:
    """Fixed games and sequential tests."""

    def __init__(self, before: Results, batch_pairs: int) -> None:
        self.finished = 0
        self._reported = before
        self._pending = NOTHING
        self._batch = batch_pairs

    @property
    def total(self) -> Results:
        return self._reported + self._pending

    def add(self, pair: PairResult) -> Progress | None:
        self.finished += 1
        self._pending += pair.results
        return self.rest() if sum(self._pending.pentanomial) >= self._batch else None

    def rest(self) -> Progress | None:
        """All pairs that were not reported yet, where there are some."""
        if self._pending == NOTHING:
            return None
        self._reported, self._pending = self.total, NOTHING
        return Progress(stats_of(self._reported))


class TuneLedger:
    """One batch of a tune: its pairs go round the perturbations, and count only all together."""

    def __init__(
        self, before: Results, pairs: int, signatures: Sequence[int], joint: int, *, house: bool
    ) -> None:
        self.finished = 0
        self.told: Progress | None = None
        self._before = before
        self._pairs = pairs
        self._slots = [NOTHING for _ in signatures]
        self._signatures = signatures
        self._joint = joint
        self._house = house

    @property
    def total(self) -> Results:
        return self._before + self._batch

    @property
    def _batch(self) -> Results:
        return sum(self._slots, NOTHING)

    def add(self, pair: PairResult) -> Progress | None:
        self.finished += 1
        self._slots[pair.number % len(self._slots)] += pair.results
        if self.finished == self._pairs:
            self.told = Progress(stats_of(self.total), self._spsa())
        return self.told

    def rest(self) -> Progress | None:
        """Nothing: the values move by all pairs of a batch together."""
        return None

    def _spsa(self) -> SlotResult:
        whole = _slot(self._batch, self._joint)
        if not self._house:
            return whole
        return SpsaResult(
            num_games=whole.num_games,
            wins=whole.wins,
            losses=whole.losses,
            draws=whole.draws,
            sig=whole.sig,
            slots=tuple(map(_slot, self._slots, self._signatures)),
        )


def _slot(found: Results, signature: int) -> SlotResult:
    return SlotResult(
        num_games=found.games,
        wins=found.wins,
        losses=found.losses,
        draws=found.draws,
        sig=signature,
    )
