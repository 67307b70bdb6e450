"""Charts as drawings: lines, a band and a few marks, all placed here; templates only draw them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.run import Run
from rookery.pages.formatting import (
    format_count,
    format_decimal,
    format_elo,
    format_fixed,
    format_llr,
    format_llr_bounds,
    format_signed,
)
from rookery.pages.run_statistics import estimate_fixed_elo
from rookery.rules.answers import ChartPoint

WIDE, HIGH = 640.0, 220.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 8.0, 10.0, 26.0
MOST_POINTS = 160
"""More than this no eye tells apart."""
MARKS = 4
MOST_BEYOND = 0.25
"""So far beyond its bounds a ratio is drawn, in widths between them."""

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class AxisMark:
    """A number beside an axis, with its line across the chart."""

    at: str
    text: str


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A line across the chart that means something."""

    y: str
    text: str = ""
    label_y: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """Paths in the coordinates of a drawing of `wide` by `high`."""

    name: str
    title: str
    line: str
    band: str
    across: tuple[AxisMark, ...]
    along: tuple[AxisMark, ...]
    rules: tuple[ReferenceLine, ...]
    last_x: str
    last_y: str
    last: str
    wide: str = f"{WIDE:.0f}"
    high: str = f"{HIGH:.0f}"
    left: str = f"{LEFT:.0f}"
    right: str = f"{WIDE - RIGHT:.0f}"
    bottom: str = f"{HIGH - BOTTOM:.0f}"
    top: str = f"{TOP:.0f}"


@dataclass(frozen=True, slots=True)
class ChartArea:
    """How values are placed on a drawing."""

    most_x: float
    low: float
    high: float

    def x(self, value: float) -> float:
        return LEFT + (WIDE - LEFT - RIGHT) * value / self.most_x

    def y(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * min(1.0, max(0.0, share))

    def path(self, points: Sequence[Point]) -> str:
        placed = (f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return "M" + "L".join(placed) if points else ""


def draw_charts(run: Run, samples: Sequence[ChartPoint]) -> tuple[Chart, ...]:
    """The charts that mean something for this kind of run, once there are two points."""
    points = _thin_out([one for one in samples if sum(one.pentanomial)])
    if len(points) < 2 or isinstance(run.kind, SpsaTuning):
        return ()
    found = [_draw_elo_chart(points)]
    if isinstance(run.kind, SprtTest):
        found.insert(0, _draw_llr_chart(run.kind, points))
    return tuple(found)


def _draw_llr_chart(kind: SprtTest, samples: Sequence[ChartPoint]) -> Chart:
    spec = kind.spec
    # One large step may go far beyond a bound; what lies between them must stay to be seen.
    beyond = (spec.upper - spec.lower) * MOST_BEYOND
    low, high = spec.lower - beyond, spec.upper + beyond
    ratios = ((float(one.games), min(max(one.llr, low), high)) for one in samples)
    line: list[Point] = [(0.0, 0.0), *ratios]
    values = [y for _, y in line]
    field = _make_area(line[-1][0], min(spec.lower, *values), max(spec.upper, *values))
    top, bottom = field.y(spec.upper), field.y(spec.lower)
    rules = (
        ReferenceLine(_n(top), f"pass {format_fixed(spec.upper)}", _n(top + 14)),
        ReferenceLine(_n(bottom), f"fail {format_fixed(spec.lower)}", _n(bottom - 6)),
    )
    last = format_fixed(samples[-1].llr if samples else 0.0)
    return _draw_chart("llr", "LLR over games", field, line, rules=rules, last=last)


def _draw_elo_chart(samples: Sequence[ChartPoint]) -> Chart:
    """With its 95 % band. Early estimates go anywhere, so that the later half sets the scale."""
    found = [(float(one.games), estimate_fixed_elo(one.pentanomial)) for one in samples]
    line = [(x, elo.middle) for x, elo in found]
    steady = found[len(found) // 2 :]
    low = min(0.0, *(elo.low for _, elo in steady))
    high = max(0.0, *(elo.high for _, elo in steady))
    field = _make_area(line[-1][0], low, high)
    edges = [(x, elo.high) for x, elo in found] + [(x, elo.low) for x, elo in reversed(found)]
    last = found[-1][1]
    return _draw_chart(
        "elo",
        "Elo over games",
        field,
        line,
        band=field.path(edges) + "Z",
        rules=(ReferenceLine(_n(field.y(0.0))),),
        last=format_elo(last.middle, last.half_width),
    )


def _draw_chart(
    name: str,
    title: str,
    field: ChartArea,
    line: Sequence[Point],
    *,
    band: str = "",
    rules: tuple[ReferenceLine, ...] = (),
    last: str = "",
) -> Chart:
    x, y = line[-1]
    return Chart(
        name=name,
        title=title,
        line=field.path(line),
        band=band,
        across=tuple(
            AxisMark(_n(field.y(v)), format_decimal(v))
            for v in _choose_steps(field.low, field.high)
        ),
        along=tuple(
            AxisMark(_n(field.x(v)), format_count(v)) for v in _choose_steps(0.0, field.most_x) if v
        ),
        rules=rules,
        last_x=_n(field.x(x)),
        last_y=_n(field.y(y)),
        last=last,
    )


def _make_area(most_x: float, low: float, high: float) -> ChartArea:
    room = max(0.05 * (high - low), 0.01)
    return ChartArea(max(1.0, most_x), low - room, high + room)


def _choose_steps(low: float, high: float) -> Iterator[float]:
    """Round numbers within a range, about as many as fit."""
    rough = (high - low) / MARKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough)
    number = math.ceil(low / step)
    while number * step <= high:
        yield number * step
        number += 1


def _thin_out(samples: Sequence[ChartPoint]) -> list[ChartPoint]:
    """Evenly, and with the last one."""
    step = max(1, math.ceil(len(samples) / MOST_POINTS))
    kept = list(samples[::step])
    if samples and kept[-1] is not samples[-1]:
        kept.append(samples[-1])
    return kept


def _n(value: float) -> str:
    return f"{value:.1f}"


# Small drawings inside tables: the bar of a likelihood ratio, the five bins of pairs.

MARK_WIDE = 100.0
MARK_HIGH = 20.0
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


def draw_llr_bar(value: float, lower: float, upper: float, before: float | None = None) -> LlrBar:
    """`before` is the ratio an hour ago; None where it does not matter any more."""
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
    """One kind of pairs: how many, and its column."""

    x: str
    y: str
    height: str
    name: str
    text: str


@dataclass(frozen=True, slots=True)
class PentanomialBars:
    """Pairs of games by what the new engine scored in them."""

    bins: tuple[Bin, ...]
    text: str


def draw_pentanomial(pairs: Sequence[int]) -> PentanomialBars:
    most = max(1, *pairs)
    bins = tuple(_draw_bin(place, pairs[place], most) for place in range(len(pairs)))
    return PentanomialBars(bins, ", ".join(f"{one.name}: {one.text}" for one in bins))


def draw_sparkline(values: Sequence[float], low: float, high: float) -> str:
    """A line through these values, from edge to edge."""
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
