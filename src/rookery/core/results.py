"""Game results as counts, from the new engine's point of view, that add and subtract."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from rookery.core.stats.residuals import excessive

Pentanomial = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Results:
    """Single games by outcome, and game pairs by pair score 0, 1/2, 1, 3/2, 2."""

    wins: int = 0
    losses: int = 0
    draws: int = 0
    crashes: int = 0
    time_losses: int = 0
    pentanomial: Pentanomial = (0, 0, 0, 0, 0)

    @property
    def games(self) -> int:
        return self.wins + self.losses + self.draws

    @property
    def pairs(self) -> int:
        return sum(self.pentanomial)

    @property
    def trinomial(self) -> tuple[int, int, int]:
        """Losses, draws, wins: the order in which statistics count outcomes."""
        return self.losses, self.draws, self.wins

    def __add__(self, other: Results) -> Self:
        a, b = self.pentanomial, other.pentanomial
        return type(self)(
            self.wins + other.wins,
            self.losses + other.losses,
            self.draws + other.draws,
            self.crashes + other.crashes,
            self.time_losses + other.time_losses,
            (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4]),
        )

    def __sub__(self, other: Results) -> Self:
        a, b = self.pentanomial, other.pentanomial
        return type(self)(
            self.wins - other.wins,
            self.losses - other.losses,
            self.draws - other.draws,
            self.crashes - other.crashes,
            self.time_losses - other.time_losses,
            (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4]),
        )

    def covers(self, earlier: Results) -> bool:
        """Whether no count is lower than in an earlier report of the same games."""
        return (
            self.wins >= earlier.wins
            and self.losses >= earlier.losses
            and self.draws >= earlier.draws
            and self.crashes >= earlier.crashes
            and self.time_losses >= earlier.time_losses
            and all(x >= y for x, y in zip(self.pentanomial, earlier.pentanomial, strict=True))
        )

    def excessive(self) -> bool:
        """More crashes or time losses than a sound machine produces."""
        return bool(self.crashes or self.time_losses) and excessive(
            games=self.games, crashes=self.crashes, time_losses=self.time_losses
        )


NOTHING = Results()


def total(parts: Iterable[Results]) -> Results:
    return sum(parts, NOTHING)


def contradiction(results: Results) -> str | None:
    """Say how the single games and the pairs disagree; None when they agree."""
    p = results.pentanomial
    if min(*p, *results.trinomial, results.crashes, results.time_losses) < 0:
        return "a count is negative"
    if results.games != 2 * results.pairs:
        return "the number of games is not twice the number of pairs"
    if results.wins - results.losses != 2 * p[4] + p[3] - p[1] - 2 * p[0]:
        return "wins minus losses differs from what the pairs say"
    if not p[3] + p[1] <= results.draws <= p[3] + 2 * p[2] + p[1]:
        return "the number of draws is not possible with these pairs"
    return None
