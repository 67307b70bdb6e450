"""What every match runner offers: events as they happen, and an end at any time."""

from collections.abc import AsyncIterator
from typing import Protocol, Self

from rookery.worker.match.events import Event


class Match(Protocol):
    """A match in progress: entered to start it, iterated to follow it, left to end it.

    Leaving ends all engines, also in the middle of games; those games count nowhere. A match that
    cannot go on raises a MatchFault from the iteration.
    """

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    def __aiter__(self) -> AsyncIterator[Event]: ...
