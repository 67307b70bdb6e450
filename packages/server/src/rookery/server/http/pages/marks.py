"""Small drawings in tables: the bar of a likelihood ratio, the five columns of game pairs, a
sparkline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rookery.server.http.pages.formatting import format_decimal

MARK_WIDE = 100.0
MARK_HIGH = 20.0
BIN = 8.0
GAP = 2.0
LEAST = 1.0
"""The least height of a column with at least one pair, so that it is visible."""
STILL = 0.005
"""A ratio that changed less stands still."""


@dataclass(frozen=True, slots=True)
class LlrBar:
    """The ratio of a sequential test between its bounds. Lengths are in per cent of the bar."""

    value: float
    lower: float
    upper: float
    before: float | None = None
    """The ratio an hour ago; None if it should not be shown."""

    @property
    def zero(self) -> float:
        return self._place(0.0)

    @property
    def start(self) -> float:
        return min(self.zero, self._place(self.value))

    @property
    def length(self) -> float:
        return abs(self._place(self.value) - self.zero)

    @property
    def side(self) -> str:
        return "up" if self.value >= 0 else "down"

    @property
    def moved(self) -> float:
        """By how much the ratio changed in the last hour."""
        return 0.0 if self.before is None else self.value - self.before

    @property
    def arrow(self) -> str:
        if self.before is None:
            return ""
        return "=" if abs(self.moved) < STILL else "▲" if self.moved > 0 else "▼"

    def _place(self, value: float) -> float:
        share = (value - self.lower) / (self.upper - self.lower)
        return MARK_WIDE * min(1.0, max(0.0, share))


def draw_columns(pairs: Sequence[int]) -> Iterator[tuple[float, float, float]]:
    """Each column of game pairs by their score: its left edge, top and height."""
    most = max(1, *pairs)
    for place, number in enumerate(pairs):
        height = max(LEAST, MARK_HIGH * number / most) if number else 0.0
        yield place * (BIN + GAP), MARK_HIGH - height, height


def draw_sparkline(values: Sequence[float], low: float, high: float) -> str:
    """A line through these values, from the left edge to the right one."""
    step = MARK_WIDE / max(1, len(values) - 1)
    reach = max(high - low, 1e-9)
    points = (
        f"{format_decimal(place * step)} "
        f"{format_decimal(MARK_HIGH - MARK_HIGH * (value - low) / reach)}"
        for place, value in enumerate(values)
    )
    return "M" + "L".join(points)
