"""The ledger: what was acknowledged for each task, and therefore what the rows may contain in the
end."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from rookery.core.model.task import NOTHING, Results

Key = tuple[str, int]
Vector = tuple[float, ...]


@dataclass(slots=True)
class Entry:
    """A task. Reports sent after the last acknowledgement may have been counted or not."""

    start: int
    games: int
    acknowledged: Results = NOTHING
    open: list[Results] = field(default_factory=list)
    reports: dict[int, Results] = field(default_factory=dict)
    """All reports that were sent, by their number of games."""
    steps: dict[int, Vector] = field(default_factory=dict)
    """For a tune, how far its values moved, by the number of games counted."""

    def may_be(self) -> list[Results]:
        return [self.acknowledged, *self.open]


class Ledger:
    """The ledger of all workers."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.given: Counter[Key] = Counter()
        self.forged: int = 0
        self.ended: set[Key] = set()
        """Tasks that ended for their worker before all their games were played."""
        self.purged: set[str] = set()
        """Runs that people stop and purge during play: their tasks end early, and those that
        crashed too often are struck out."""
        self.complaints: list[str] = []

    def give(self, key: Key, start: int, games: int) -> None:
        self.given[key] += 1
        self.entries.setdefault(key, Entry(start, games))

    def send(self, key: Key, results: Results) -> None:
        entry = self.entries[key]
        entry.open.append(results)
        entry.reports[results.games] = results

    def hear(self, key: Key, results: Results) -> None:
        """Notes that a report was acknowledged, and thereby all earlier ones."""
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
        """All differences between rows and ledger."""
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
