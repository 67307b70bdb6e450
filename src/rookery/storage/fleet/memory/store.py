"""The in-memory twin of the fleet's store as a whole."""

from rookery.service.fleet.ports import CommitStats, Hears
from rookery.storage.fleet.memory.commits import MemoryCommits
from rookery.storage.fleet.memory.reads import MemoryReads
from rookery.storage.fleet.memory.rows import MemoryRows


class MemoryStore:
    """Rows that outlive their commits, as a database does."""

    def __init__(self, rows: MemoryRows | None = None) -> None:
        self.rows = rows or MemoryRows()
        self.reads = MemoryReads(self.rows)
        self.commits = MemoryCommits(self.rows)
        self.hears: list[Hears] = []

    async def take(self) -> MemoryCommits:
        """Ends the commits given before; what they had not written is lost."""
        self.commits.lose("another has taken the fence")
        self.commits = MemoryCommits(self.rows, hears=self.hears)
        for hearer in self.hears:
            hearer.begin(self.rows.sequence)
        return self.commits

    async def close(self) -> None:
        """Writes what was put and ends."""
        self.commits.release()

    def stats(self) -> CommitStats:
        """Nobody waits for memory."""
        return CommitStats(rounds=self.rows.sequence, changes=self.rows.sequence)
