"""Places values on a drawing: its size, the scales of its axes and their marks. The charts of a run
and the figures with several curves share it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

MARKS = 4
"""About how many marks an axis has."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class DrawingSize:
    """The size of a drawing, and the edges of the area in which values are drawn."""

    wide: int
    high: int
    left: int
    right: int
    top: int
    bottom: int


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A number beside an axis, with its line across the drawing."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Converts values into coordinates of a drawing. Values beyond the vertical axis are drawn at
    its end."""

    size: DrawingSize
    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return self.size.left + (self.size.right - self.size.left) * share

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return self.size.bottom - (self.size.bottom - self.size.top) * min(1.0, max(0.0, share))

    def path(self, points: Sequence[Point]) -> str:
        """A line through these points, as the `d` of an SVG path."""
        placed = (f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return "M" + "L".join(placed) if points else ""


def choose_steps(low: float, high: float) -> Iterator[float]:
    """Round numbers within a range, about as many as fit on an axis."""
    rough = (high - low) / MARKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough)
    number = math.ceil(low / step)
    while number * step <= high:
        yield number * step
        number += 1
