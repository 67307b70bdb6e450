"""Charts as drawings: lines, a band and a few marks, all placed here; templates only draw them."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from rookery.model.kinds import SprtTest, SpsaTuning
from rookery.model.run import Run
from rookery.pages.formatting import (
    format_count,
    format_decimal,
    format_duration,
    format_elo_interval,
    format_fixed,
    format_plural,
    format_rate,
)
from rookery.pages.run_statistics import ShownElo, estimate_fixed_elo
from rookery.rules.answers import ChartPoint
from rookery.stats.spsa import Tune

WIDE, HIGH = 640.0, 200.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 8.0, 10.0, 26.0
MOST_POINTS = 160
"""More than this no eye tells apart."""
MARKS = 4
MOST_BEYOND = 0.25
"""So far beyond its bounds a ratio is drawn, in widths between them."""

WIDEST = 2.5
"""Bands up to so many times as wide as the last one are shown whole, as in run_charts.js."""
MOST_PATHS = 40
"""Of a tune's parameters; the table below shows all of them."""
RATE_POINTS = 24
"""So many stretches of a run are looked at for its speed: shorter ones jump about."""
SPANS = (10, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800)
"""Between marks of a time axis, in seconds."""

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
    others: tuple[str, ...]
    """Further lines of the same kind."""
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


def draw_charts(
    run: Run, samples: Sequence[ChartPoint], elo: ShownElo | None = None
) -> tuple[Chart, ...]:
    """The charts that mean something for this kind of run, once there are two points. `elo` is
    what the page says of the run, where the line of its Elo ends."""
    speed = _draw_speed_chart(samples)
    if isinstance(run.kind, SpsaTuning):
        return (*_draw_path_chart(run.kind.tune), *speed)
    points = _thin_out([one for one in samples if sum(one.pentanomial)])
    if len(points) < 2:
        return ()
    found = [_draw_elo_chart(points, elo)]
    if isinstance(run.kind, SprtTest):
        found.append(_draw_llr_chart(run.kind, points))
    return (*found, *speed)


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


def _draw_elo_chart(samples: Sequence[ChartPoint], elo: ShownElo | None) -> Chart:
    """With its 95 % band. Early estimates go anywhere, so that bands up to so many times as wide
    as the last one set the scale."""
    found = [(float(one.games), estimate_fixed_elo(one.pentanomial)) for one in samples]
    if elo is not None:
        found[-1] = found[-1][0], elo
    line = [(x, each.middle) for x, each in found]
    last = found[-1][1]
    most = WIDEST * (last.high - last.low)
    steady = [each for _, each in found if each.high - each.low <= most]
    low, high = min(each.low for each in steady), max(each.high for each in steady)
    field = _make_area(line[-1][0], min(0.0, low), max(0.0, high))
    edges = [(x, each.high) for x, each in found] + [(x, each.low) for x, each in reversed(found)]
    return _draw_chart(
        "elo",
        "Elo over games",
        field,
        line,
        band=field.path(edges) + "Z",
        rules=(ReferenceLine(_n(field.y(0.0))),),
        last=format_elo_interval(last.middle, last.low, last.high),
    )


def _draw_speed_chart(samples: Sequence[ChartPoint]) -> tuple[Chart, ...]:
    """Games a minute over time, as counted between points that are some way apart."""
    step = max(1, len(samples) // RATE_POINTS)
    kept = samples[::step]
    rates = list(_measure_rates(kept))
    if len(rates) < 2:
        return ()
    field = _make_area(rates[-1][0], 0.0, max(rate for _, rate in rates))
    return (
        _draw_chart(
            "speed",
            "Games a minute",
            field,
            rates,
            last=format_rate(rates[-1][1]),
            show_x=format_duration,
            steps=_choose_spans(field.most_x),
        ),
    )


def _measure_rates(samples: Sequence[ChartPoint]) -> Iterator[Point]:
    """Seconds since the first point, and games a minute in the stretch that ended then."""
    for before, after in pairwise(samples):
        seconds = (after.at - before.at).total_seconds()
        if seconds > 0 and after.games >= before.games:
            since = (after.at - samples[0].at).total_seconds()
            yield since, 60 * (after.games - before.games) / seconds


def _draw_path_chart(tune: Tune) -> tuple[Chart, ...]:
    """How far parameters have moved, in hundredths of their ranges, so that all fit one scale."""
    points = [*tune.history]
    if not points:
        return ()
    every = tune.iteration / len(points)
    paths = [_follow_parameter(tune, place, every) for place in range(len(tune.parameters))]
    shown = sorted(paths, key=lambda path: -abs(path[-1][1]))[:MOST_PATHS]
    ends = [y for path in shown for _, y in path]
    field = _make_area(float(max(1, tune.iteration)), min(ends), max(ends))
    moved = format_plural(len(shown), "parameter")
    chart = _draw_chart(
        "paths",
        "Parameters over iterations, moved by % of their range",
        field,
        shown[0],
        others=tuple(field.path(path) for path in shown[1:]),
        rules=(ReferenceLine(_n(field.y(0.0))),),
        last=moved,
    )
    return (chart,)


def _follow_parameter(tune: Tune, place: int, every: float) -> list[Point]:
    line = tune.parameters[place].line
    values = [line.start, *(point[place].theta for point in tune.history), tune.thetas[place]]
    reach = max(line.maximum - line.minimum, 1e-9) / 100
    last = len(values) - 1
    return [
        (float(tune.iteration) if number == last else every * number, (value - line.start) / reach)
        for number, value in enumerate(values)
    ]


def _draw_chart(
    name: str,
    title: str,
    field: ChartArea,
    line: Sequence[Point],
    *,
    others: tuple[str, ...] = (),
    band: str = "",
    rules: tuple[ReferenceLine, ...] = (),
    last: str = "",
    show_x: Callable[[float], str] = format_count,
    steps: Iterator[float] | None = None,
) -> Chart:
    x, y = line[-1]
    return Chart(
        name=name,
        title=title,
        line=field.path(line),
        others=others,
        band=band,
        across=tuple(
            AxisMark(_n(field.y(v)), format_decimal(v)) for v in choose_steps(field.low, field.high)
        ),
        along=tuple(
            AxisMark(_n(field.x(v)), show_x(v))
            for v in steps or choose_steps(0.0, field.most_x)
            if v
        ),
        rules=rules,
        last_x=_n(field.x(x)),
        last_y=_n(field.y(y)),
        last=last,
    )


def _make_area(most_x: float, low: float, high: float) -> ChartArea:
    room = max(0.05 * (high - low), 0.01)
    return ChartArea(max(1.0, most_x), low - room, high + room)


def choose_steps(low: float, high: float) -> Iterator[float]:
    """Round numbers within a range, about as many as fit."""
    rough = (high - low) / MARKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * each for each in (1, 2, 2.5, 5, 10) if power * each >= rough)
    number = math.ceil(low / step)
    while number * step <= high:
        yield number * step
        number += 1


def _choose_spans(seconds: float) -> Iterator[float]:
    """Round times within a span, about as many as fit."""
    step = next((each for each in SPANS if each * MARKS >= seconds), seconds / MARKS)
    number = 1
    while number * step <= seconds:
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
