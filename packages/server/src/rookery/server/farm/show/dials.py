"""Dials: a value on a half-circle between two ends, which templates print as SVG."""

from dataclasses import dataclass
from math import cos, pi, sin

MIDDLE, RADIUS, WIDTH = 100.0, 80.0, 16.0


@dataclass(frozen=True, slots=True)
class Dial:
    """A half-circle with a hand: its texts, and arcs in a drawing of 200 by 110."""

    title: str
    value: str
    detail: str
    low: str
    high: str
    arc: str
    """The arc from zero to the value."""
    band: str
    """The arc of the 95 % interval, or empty."""
    hand_x: str
    hand_y: str
    tone: str


def draw_dial(
    title: str,
    value: str,
    detail: str,
    ends: tuple[str, str],
    share: float,
    zero: float,
    band: tuple[float, float] | None = None,
) -> Dial:
    """A dial. Shares run from 0 at its left end to 1 at its right one."""
    here = min(1.0, max(0.0, share))
    x, y = _place(here, RADIUS - WIDTH)
    return Dial(
        title=title,
        value=value,
        detail=detail,
        low=ends[0],
        high=ends[1],
        arc=_draw_arc(min(zero, here), max(zero, here)),
        band="" if band is None else _draw_arc(*band),
        hand_x=x,
        hand_y=y,
        tone="up" if share >= zero else "down",
    )


def _draw_arc(start: float, end: float) -> str:
    first, last = (_place(min(1.0, max(0.0, each)), RADIUS) for each in (start, end))
    return f"M{first[0]} {first[1]}A{RADIUS:.0f} {RADIUS:.0f} 0 0 1 {last[0]} {last[1]}"


def _place(share: float, radius: float) -> tuple[str, str]:
    angle = pi * (1.0 - share)
    return f"{MIDDLE + radius * cos(angle):.1f}", f"{MIDDLE - radius * sin(angle):.1f}"
