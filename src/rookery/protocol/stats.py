"""Game results on the wire: cumulative for a task, from the new engine's point of view."""

from msgspec import Struct

from rookery.core.results import Results
from rookery.protocol.fields import Count

Bins = tuple[Count, Count, Count, Count, Count]


class Stats(Struct, frozen=True, gc=False):
    """Single games by outcome and pairs by score; whether they agree is for the core to say."""

    wins: Count
    losses: Count
    draws: Count
    crashes: Count
    time_losses: Count
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
