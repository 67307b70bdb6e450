"""Tidings: what processes tell one another through the database, by channel.

Whoever keeps something in memory that another process may change says what to do when it is told
so, and what to do when tidings may have been missed: then everything kept may be out of date.
"""

import enum
from collections.abc import Callable
from dataclasses import dataclass

Told = Callable[[str], object]
Missed = Callable[[], object]


class Channel(enum.StrEnum):
    """What is told of; the text that comes along says which one it was."""

    FLEET = "fleet"
    USERS = "users"
    TOKENS = "tokens"
    SESSIONS = "sessions"
    ENGINES = "engines"


@dataclass(frozen=True, slots=True)
class _Ear:
    channel: Channel
    told: Told
    missed: Missed


@dataclass(frozen=True, slots=True)
class ListeningStats:
    """Whether anybody listens, how often the connection was made, and what came through it."""

    connected: bool = False
    connections: int = 0
    heard: int = 0


class Tidings:
    """One per process; the event loop alone uses it. Nobody here may take long or fail."""

    def __init__(self) -> None:
        self._ears: list[_Ear] = []

    def on(self, channel: Channel, told: Told, missed: Missed) -> None:
        """Have these called from now on."""
        self._ears.append(_Ear(channel, told, missed))

    def tell(self, channel: Channel, text: str) -> None:
        for ear in self._ears:
            if ear.channel is channel:
                ear.told(text)

    def miss(self) -> None:
        """There was a time in which nobody listened."""
        for ear in self._ears:
            ear.missed()
