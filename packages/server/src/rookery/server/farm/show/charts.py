"""Draws charts: computes coordinates of lines, bands and marks, which templates print as SVG."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.run import Run
from rookery.core.stats.spsa import Tune
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.pages.drawing import (
    MARKS,
    AxisMark,
    DrawingSize,
    Point,
    Scale,
    choose_steps,
)
from rookery.server.http.pages.formatting import (
    format_count,
    format_decimal,
    format_duration,
    format_elo_interval,
    format_fixed,
    format_nps,
    format_plural,
    format_rate,
    shorten_count,
)
from rookery.server.runs.run.statistics import ShownElo, estimate_elo_at, leave_out_purged

SIZE = DrawingSize(wide=640, high=200, left=44, right=632, top=10, bottom=174)
MOST_POINTS = 160
"""The most points of a line. More could not be told apart."""
MOST_BEYOND = 0.25
"""How far beyond its bounds a ratio is drawn, as a fraction of the distance between them."""

WIDEST = 2.5
"""Elo bands up to this many times as wide as the last one are shown whole, as in run_charts.js."""
MOST_PATHS = 40
"""How many parameters of a tune are drawn. The table below the chart has all of them."""
RATE_POINTS = 48
"""The number of intervals over which a run's speed is measured. Shorter ones would fluctuate."""
SPANS = (10, 30, 60, 300, 600, 1800, 3600, 7200, 14400, 28800, 43200, 86400, 172800, 604800)
"""Possible distances between the marks of a time axis, in seconds."""


@dataclass(frozen=True, slots=True)
class PresentPace:
    """The present speed of a run that has not ended, as its page shows it. All values are 0 if
    nobody plays."""

    at: datetime
    games_per_minute: float
    nps: float
    cores: int


@dataclass(frozen=True, slots=True)
class TimedPoint:
    """A value at a time in seconds after a run's first point, with the cores that played then."""

    seconds: float
    value: float
    cores: int


@dataclass(frozen=True, slots=True)
class ReferenceLine:
    """A horizontal line with a meaning, such as a bound."""

    y: str
    text: str = ""
    label_y: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart as paths in the coordinates of a drawing."""

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
    points: str = ""
    """The points of a line over time for the script, which draws the same: times, values and cores
    as JSON."""
    size: DrawingSize = SIZE


def draw_charts(
    run: Run,
    samples: Sequence[ChartPoint],
    elo: ShownElo | None = None,
    present: PresentPace | None = None,
) -> tuple[Chart, ...]:
    """The charts that apply to this kind of run, once there are two points. `elo` and `present` are
    the figures that the page shows; the lines end at them. A run that has ended has no
    `present`."""
    over_time = (*_draw_pace_chart(samples, present), *_draw_speed_chart(samples, present))
    if isinstance(run.kind, SpsaTuning):
        return (*_draw_path_chart(run.kind.tune), *over_time)
    found = draw_games_charts(run, samples, elo)
    return (*found, *over_time) if found else ()


def draw_games_charts(
    run: Run, samples: Sequence[ChartPoint], elo: ShownElo | None
) -> tuple[Chart, ...]:
    """Elo over games and, for a sequential test, its likelihood ratio over games."""
    left = leave_out_purged(samples, run)
    points = _thin_out([one for one in left if sum(one.pentanomial)])
    if len(points) < 2 or isinstance(run.kind, SpsaTuning):
        return ()
    chart = _draw_elo_chart(run, points, elo)
    if not isinstance(run.kind, SprtTest):
        return (chart,)
    return chart, _draw_llr_chart(run.kind, points)


def _draw_llr_chart(kind: SprtTest, samples: Sequence[ChartPoint]) -> Chart:
    spec = kind.spec
    # One large step may go far beyond a bound; the range between the bounds must stay readable.
    beyond = (spec.upper - spec.lower) * MOST_BEYOND
    low, high = spec.lower - beyond, spec.upper + beyond
    ratios = ((float(one.games), min(max(one.llr, low), high)) for one in samples)
    line: list[Point] = [(0.0, 0.0), *ratios]
    values = [y for _, y in line]
    scale = _make_scale(line[-1][0], min(spec.lower, *values), max(spec.upper, *values))
    top, bottom = scale.y(spec.upper), scale.y(spec.lower)
    rules = (
        ReferenceLine(_n(top), f"pass {format_fixed(spec.upper)}", _n(top + 14)),
        ReferenceLine(_n(bottom), f"fail {format_fixed(spec.lower)}", _n(bottom - 6)),
    )
    last = format_fixed(samples[-1].llr if samples else 0.0)
    return _draw_chart("llr", "LLR over games", scale, line, rules=rules, last=last)


def _draw_elo_chart(run: Run, samples: Sequence[ChartPoint], elo: ShownElo | None) -> Chart:
    """Elo with its 95 % band. Early estimates vary widely, so only bands up to WIDEST times as wide
    as the last one determine the scale."""
    found = [(float(one.games), estimate_elo_at(run, one)) for one in samples]
    if elo is not None:
        found[-1] = found[-1][0], elo
    line = [(x, each.middle) for x, each in found]
    last = found[-1][1]
    most = WIDEST * (last.high - last.low)
    steady = [each for _, each in found if each.high - each.low <= most]
    low, high = min(each.low for each in steady), max(each.high for each in steady)
    scale = _make_scale(line[-1][0], min(0.0, low), max(0.0, high))
    edges = [(x, each.high) for x, each in found] + [(x, each.low) for x, each in reversed(found)]
    return _draw_chart(
        "elo",
        "Elo over games",
        scale,
        line,
        band=scale.path(edges) + "Z",
        rules=(ReferenceLine(_n(scale.y(0.0))),),
        last=format_elo_interval(last.middle, last.low, last.high),
    )


def _draw_pace_chart(
    samples: Sequence[ChartPoint], present: PresentPace | None
) -> tuple[Chart, ...]:
    """Games a minute over time."""
    rates = _measure_rates(samples) if samples else []
    now = present.games_per_minute if present else 0.0
    line = _end_line(rates, samples, present, now)
    return _draw_over_time("pace", "Games a minute", line, samples, format_rate, present)


def _draw_speed_chart(
    samples: Sequence[ChartPoint], present: PresentPace | None
) -> tuple[Chart, ...]:
    """Nodes a second over time. No chart if the points are of a version without that figure."""
    known = _thin_out([one for one in samples if one.nps])
    speeds = [TimedPoint(_seconds_since(samples, one.at), one.nps or 0, one.cores) for one in known]
    line = _end_line(speeds, samples, present, present.nps if present else 0.0)
    return _draw_over_time("speed", "Speed", line, samples, format_nps, present, shorten_count)


def _end_line(
    line: list[TimedPoint],
    samples: Sequence[ChartPoint],
    present: PresentPace | None,
    value: float,
) -> list[TimedPoint]:
    """Extend a line to the present value. If nobody plays, it drops to zero at its last point."""
    if present is None or len(line) < 2:
        return line
    if not present.cores:
        return [*line, TimedPoint(line[-1].seconds, 0.0, 0)]
    now = _seconds_since(samples, present.at)
    before = [one for one in line if one.seconds < now]
    return [*before, TimedPoint(now, value, present.cores)]


def _draw_over_time(
    name: str,
    title: str,
    line: Sequence[TimedPoint],
    samples: Sequence[ChartPoint],
    show_last: Callable[[float], str],
    present: PresentPace | None,
    show_y: Callable[[float], str] = format_decimal,
) -> tuple[Chart, ...]:
    """A chart of a value between zero and its maximum over the time since the first point. No chart
    for fewer than two values."""
    if len(line) < 2:
        return ()
    scale = _make_scale(line[-1].seconds, 0.0, max(one.value for one in line))
    last = show_last(line[-1].value)
    chart = _draw_chart(
        name,
        title,
        scale,
        [(one.seconds, one.value) for one in line],
        last=last if present else f"{last} at the end",
        show_x=format_duration,
        show_y=show_y,
        steps=_choose_spans(scale.x_high),
        points=_write_points(line, samples[0].at),
    )
    return (chart,)


def _write_points(line: Sequence[TimedPoint], begun: datetime) -> str:
    first = begun.timestamp()
    rounded = [(round(first + one.seconds), round(one.value, 1), one.cores) for one in line]
    return msgspec.json.encode(rounded).decode()


def _seconds_since(samples: Sequence[ChartPoint], at: datetime) -> float:
    return (at - samples[0].at).total_seconds()


def _measure_rates(samples: Sequence[ChartPoint]) -> list[TimedPoint]:
    """Games a minute in equal intervals of time, each at its end. Equal intervals level out results
    that many machines report at once, as after a restart."""
    rates: list[TimedPoint] = []
    after, even = samples[-1], _seconds_since(samples, samples[-1].at) / RATE_POINTS
    for before in samples[-2::-1]:
        if (seconds := (after.at - before.at).total_seconds()) >= max(even, 1e-6):
            if after.games >= before.games:
                rate = 60 * (after.games - before.games) / seconds
                rates.append(TimedPoint(_seconds_since(samples, after.at), rate, after.cores))
            after = before
    return rates[::-1]


def _draw_path_chart(tune: Tune) -> tuple[Chart, ...]:
    """The changes of tuned parameters, in per cent of their ranges so that all fit one scale."""
    points = [*tune.history]
    if not points:
        return ()
    every = tune.iteration / len(points)
    paths = [_follow_parameter(tune, place, every) for place in range(len(tune.parameters))]
    shown = sorted(paths, key=lambda path: -abs(path[-1][1]))[:MOST_PATHS]
    ends = [y for path in shown for _, y in path]
    scale = _make_scale(float(max(1, tune.iteration)), min(ends), max(ends))
    moved = format_plural(len(shown), "parameter")
    chart = _draw_chart(
        "paths",
        "Parameters over iterations, moved by % of their range",
        scale,
        shown[0],
        others=tuple(scale.path(path) for path in shown[1:]),
        rules=(ReferenceLine(_n(scale.y(0.0))),),
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
    scale: Scale,
    line: Sequence[Point],
    *,
    others: tuple[str, ...] = (),
    band: str = "",
    rules: tuple[ReferenceLine, ...] = (),
    last: str = "",
    points: str = "",
    show_x: Callable[[float], str] = format_count,
    show_y: Callable[[float], str] = format_decimal,
    steps: Iterator[float] | None = None,
) -> Chart:
    x, y = line[-1]
    return Chart(
        name=name,
        title=title,
        line=scale.path(line),
        others=others,
        band=band,
        across=tuple(
            AxisMark(_n(scale.y(v)), show_y(v)) for v in choose_steps(scale.y_low, scale.y_high)
        ),
        along=tuple(
            AxisMark(_n(scale.x(v)), show_x(v))
            for v in steps or choose_steps(0.0, scale.x_high)
            if v
        ),
        rules=rules,
        last_x=_n(scale.x(x)),
        last_y=_n(scale.y(y)),
        last=last,
        points=points,
    )


def _make_scale(most_x: float, low: float, high: float) -> Scale:
    room = max(0.05 * (high - low), 0.01)
    return Scale(SIZE, 0.0, max(1.0, most_x), low - room, high + room)


def _choose_spans(seconds: float) -> Iterator[float]:
    """Round times within a range, about as many as fit on an axis."""
    step = next((each for each in SPANS if each * MARKS >= seconds), seconds / MARKS)
    number = 1
    while number * step <= seconds:
        yield number * step
        number += 1


def _thin_out(samples: Sequence[ChartPoint]) -> list[ChartPoint]:
    """Evenly chosen points, including the last one."""
    step = max(1, math.ceil(len(samples) / MOST_POINTS))
    kept = list(samples[::step])
    if samples and kept[-1] is not samples[-1]:
        kept.append(samples[-1])
    return kept


def _n(value: float) -> str:
    return f"{value:.1f}"
