"""What a worker shows of itself while it works."""

from dataclasses import dataclass
from typing import Protocol

from rookery.core.results import NOTHING, Results


@dataclass(frozen=True, slots=True)
class Status:
    """What it is doing now."""

    doing: str
    run: str = ""
    results: Results = NOTHING
    games: int = 0
    """How many the task has."""


class Watcher(Protocol):
    """Is told sentences that are worth keeping, and the status whenever it changes."""

    def say(self, sentence: str) -> None: ...

    def show(self, status: Status) -> None: ...


class Nobody:
    """When nobody looks."""

    def say(self, sentence: str) -> None:
        """It is not kept."""

    def show(self, status: Status) -> None:
        """It is not shown."""
