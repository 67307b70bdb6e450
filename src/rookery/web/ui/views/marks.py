"""Small drawings inside tables: the bar of a likelihood ratio, the five bins of pairs."""

from collections.abc import Sequence
from dataclasses import dataclass

from rookery.web.ui.views import words

WIDE = 100.0
HIGH = 20.0
BIN = 8.0
GAP = 2.0
LEAST = 1.0
"""A bin that holds something is seen."""
NAMES = ("0", "½", "1", "1½", "2")


@dataclass(frozen=True, slots=True)
class LlrBar:
    """Where a sequential test stands between its bounds; lengths are in hundredths of the bar."""

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


def llr_bar(value: float, lower: float, upper: float, before: float | None = None) -> LlrBar:
    """`before` is the ratio an hour ago; None where it does not matter any more."""
    zero = _place(0.0, lower, upper)
    end = _place(value, lower, upper)
    change = 0.0 if before is None else value - before
    return LlrBar(
        text=words.llr(value, lower, upper),
        value=words.fixed(value),
        place=words.llr_place(value, lower, upper),
        lower=words.fixed(lower),
        upper=words.fixed(upper),
        zero=_number(zero),
        start=_number(min(zero, end)),
        length=_number(abs(end - zero)),
        side="up" if value >= 0 else "down",
        movement="" if before is None else _arrow(change),
        moved=f"{words.signed(change)} in the last hour",
    )


@dataclass(frozen=True, slots=True)
class Bin:
    """One kind of pairs: how many, and its column."""

    x: str
    y: str
    height: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Pentanomial:
    """Pairs of games by what the new engine scored in them."""

    bins: tuple[Bin, ...]
    text: str


def pentanomial(pairs: Sequence[int]) -> Pentanomial:
    most = max(1, *pairs)
    bins = tuple(_bin(place, pairs[place], most) for place in range(len(pairs)))
    return Pentanomial(bins, ", ".join(f"{one.name}: {one.text}" for one in bins))


def spark_line(values: Sequence[float], low: float, high: float) -> str:
    """A line through these values, from edge to edge."""
    step = WIDE / max(1, len(values) - 1)
    reach = max(high - low, 1e-9)
    points = (
        f"{_number(place * step)} {_number(HIGH - HIGH * (value - low) / reach)}"
        for place, value in enumerate(values)
    )
    return "M" + "L".join(points)


def _bin(place: int, number: int, most: int) -> Bin:
    height = max(LEAST, HIGH * number / most) if number else 0.0
    return Bin(
        x=_number(place * (BIN + GAP)),
        y=_number(HIGH - height),
        height=_number(height),
        name=NAMES[place],
        text=words.count(number),
    )


def _place(value: float, lower: float, upper: float) -> float:
    share = (value - lower) / (upper - lower)
    return WIDE * min(1.0, max(0.0, share))


def _arrow(change: float) -> str:
    if abs(change) < 0.005:
        return "="
    return "▲" if change > 0 else "▼"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
