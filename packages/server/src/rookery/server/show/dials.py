"""Dials: a value on a half-circle between two ends, which templates print as SVG."""

from dataclasses import dataclass
from math import cos, pi, sin

MIDDLE, RADIUS, WIDTH = 100.0, 80.0, 16.0


@dataclass(frozen=True, slots=True)
class Dial:
    """A half-circle with a hand, in a drawing of 200 by 110."""

    arc: str
    """The arc from zero to the value."""
    band: str
    """The arc of the 95 % interval, or empty."""
    hand: tuple[float, float]
    tone: str


def draw_dial(share: float, zero: float, band: tuple[float, float] | None = None) -> Dial:
    """A dial. Shares run from 0 at its left end to 1 at its right one."""
    here = _limit(share)
    return Dial(
        arc=_draw_arc(min(zero, here), max(zero, here)),
        band="" if band is None else _draw_arc(*band),
        hand=_place(here, RADIUS - WIDTH),
        tone="up" if share >= zero else "down",
    )


def _draw_arc(start: float, end: float) -> str:
    (x, y), (last_x, last_y) = (_place(_limit(each), RADIUS) for each in (start, end))
    return f"M{x:.1f} {y:.1f}A{RADIUS:.0f} {RADIUS:.0f} 0 0 1 {last_x:.1f} {last_y:.1f}"


def _limit(share: float) -> float:
    return min(1.0, max(0.0, share))


def _place(share: float, radius: float) -> tuple[float, float]:
    angle = pi * (1.0 - share)
    return MIDDLE + radius * cos(angle), MIDDLE - radius * sin(angle)
