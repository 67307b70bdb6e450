"""The ledger: what each task was told, and what may therefore be in the rows in the end."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rookery.model.task import NOTHING, Results

Key = tuple[str, int]
Vector = tuple[float, ...]


@dataclass(slots=True)
class Entry:
    """One task. What was sent after the last acknowledgement may have been counted or not."""

    start: int
    games: int
    acknowledged: Results = NOTHING
    open: list[Results] = field(default_factory=list)
    reports: dict[int, Results] = field(default_factory=dict)
    """Everything that was sent, by its number of games."""
    steps: dict[int, Vector] = field(default_factory=dict)
    """Of a tune: by the games counted then, how far its values moved."""

    def may_be(self) -> list[Results]:
        return [self.acknowledged, *self.open]


class Ledger:
    """Kept by all workers together."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.given: Counter[Key] = Counter()
        self.forged: int = 0
        self.ended: set[Key] = set()
        """Tasks that were over for their worker before all of their games were played."""
        self.purged: set[str] = set()
        """Runs that people stop and purge while they are played: their tasks end under their
        workers, and those that crashed too often are struck out."""
        self.complaints: list[str] = []

    def give(self, key: Key, start: int, games: int) -> None:
        self.given[key] += 1
        self.entries.setdefault(key, Entry(start, games))

    def send(self, key: Key, results: Results) -> None:
        entry = self.entries[key]
        entry.open.append(results)
        entry.reports[results.games] = results

    def hear(self, key: Key, results: Results) -> None:
        """A report is acknowledged: so is everything before it."""
        entry = self.entries[key]
        if results.games >= entry.acknowledged.games:
            entry.acknowledged = results
        entry.open = [each for each in entry.open if each.games > entry.acknowledged.games]

    def end(self, key: Key, results: Results) -> None:
        if results.games < self.entries[key].games:
            self.ended.add(key)

    def complain(self, words: str) -> None:
        self.complaints.append(words)

    def acknowledged_games(self) -> int:
        return sum(entry.acknowledged.games for entry in self.entries.values())

    def check(self, found: Mapping[Key, Results]) -> list[str]:
        """Everything in which rows and ledger disagree."""
        wrong = [f"{key} was given {times} times" for key, times in self.given.items() if times > 1]
        for key, entry in self.entries.items():
            if key not in found:
                wrong.append(f"{key} is not there")
            elif found[key] not in entry.may_be():
                wrong.append(f"{key} holds {found[key]} instead of {entry.acknowledged}")
        strangers = sum(results.games for key, results in found.items() if key not in self.entries)
        if strangers:
            wrong.append(f"{strangers} games in tasks that nobody heard of")
        return [*wrong, *self.complaints]
