"""Game results on the wire: cumulative for a task, from the new engine's point of view."""

from typing import Annotated

from msgspec import Meta, Struct

from rookery.core.results import Results
from rookery.protocol.fields import LARGEST_COUNT, Count

Bins = tuple[Count, Count, Count, Count, Count]
MOST_GAMES = LARGEST_COUNT
Games = Annotated[int, Meta(ge=0, le=MOST_GAMES)]


class Stats(Struct, frozen=True, gc=False):
    """Single games by outcome and pairs by score; whether they agree is for the core to say."""

    wins: Games
    losses: Games
    draws: Games
    crashes: Games
    time_losses: Games
    pentanomial: Bins

    def results(self) -> Results:
        return Results(
            self.wins,
            self.losses,
            self.draws,
            self.crashes,
            self.time_losses,
            self.pentanomial,
        )


def stats_of(results: Results) -> Stats:
    """Results as they are sent."""
    return Stats(
        results.wins,
        results.losses,
        results.draws,
        results.crashes,
        results.time_losses,
        results.pentanomial,
    )
