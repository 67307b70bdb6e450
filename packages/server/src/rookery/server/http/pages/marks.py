"""Small drawings in tables: the bar of a likelihood ratio, the five bins of game pairs, a
sparkline."""

from collections.abc import Sequence
from dataclasses import dataclass

from rookery.server.http.pages.formatting import (
    format_count,
    format_fixed,
    format_llr,
    format_llr_bounds,
    format_signed,
)

MARK_WIDE = 100.0
MARK_HIGH = 20.0
BIN = 8.0
GAP = 2.0
LEAST = 1.0
"""The least height of a bin with at least one pair, so that it is visible."""
NAMES = ("0", "½", "1", "1½", "2")


@dataclass(frozen=True, slots=True)
class LlrBar:
    """The position of a sequential test between its bounds. Lengths are in per cent of the bar."""

    text: str
    value: str
    place: str
    lower: str
    upper: str
    zero: str
    start: str
    length: str
    side: str
    movement: str
    moved: str


def draw_llr_bar(value: float, lower: float, upper: float, before: float | None = None) -> LlrBar:
    """`before` is the ratio an hour ago; None if it should not be shown."""
    zero = _place(0.0, lower, upper)
    end = _place(value, lower, upper)
    change = 0.0 if before is None else value - before
    return LlrBar(
        text=format_llr(value, lower, upper),
        value=format_fixed(value),
        place=format_llr_bounds(value, lower, upper),
        lower=format_fixed(lower),
        upper=format_fixed(upper),
        zero=_number(zero),
        start=_number(min(zero, end)),
        length=_number(abs(end - zero)),
        side="up" if value >= 0 else "down",
        movement="" if before is None else _choose_arrow(change),
        moved=f"{format_signed(change)} in the last hour",
    )


@dataclass(frozen=True, slots=True)
class Bin:
    """One kind of game pairs: their number, and their column."""

    x: str
    y: str
    height: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PentanomialBars:
    """Game pairs by the new engine's score in them."""

    bins: tuple[Bin, ...]
    text: str


def draw_pentanomial(pairs: Sequence[int]) -> PentanomialBars:
    most = max(1, *pairs)
    bins = tuple(_draw_bin(place, pairs[place], most) for place in range(len(pairs)))
    return PentanomialBars(bins, ", ".join(f"{one.name}: {one.text}" for one in bins))


def draw_sparkline(values: Sequence[float], low: float, high: float) -> str:
    """A line through these values, from the left edge to the right one."""
    step = MARK_WIDE / max(1, len(values) - 1)
    reach = max(high - low, 1e-9)
    points = (
        f"{_number(place * step)} {_number(MARK_HIGH - MARK_HIGH * (value - low) / reach)}"
        for place, value in enumerate(values)
    )
    return "M" + "L".join(points)


def _draw_bin(place: int, number: int, most: int) -> Bin:
    height = max(LEAST, MARK_HIGH * number / most) if number else 0.0
    return Bin(
        x=_number(place * (BIN + GAP)),
        y=_number(MARK_HIGH - height),
        height=_number(height),
        name=NAMES[place],
        text=format_count(number),
    )


def _place(value: float, lower: float, upper: float) -> float:
    share = (value - lower) / (upper - lower)
    return MARK_WIDE * min(1.0, max(0.0, share))


def _choose_arrow(change: float) -> str:
    if abs(change) < 0.005:
        return "="
    return "▲" if change > 0 else "▼"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
