"""The charts of a run: those of its kind, and its speed over time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from rookery.core.model.run import Run
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.pages.drawing import MARKS
from rookery.server.http.pages.formatting import (
    format_decimal,
    format_duration,
    format_nps,
    format_rate,
    shorten_count,
)
from rookery.server.show.charts import Chart, draw_chart, make_scale, thin_out
from rookery.server.show.kinds import page_of
from rookery.server.show.statistics import ShownElo, leave_out_purged

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
    found = draw_kind_charts(run, samples, elo)
    return (*found, *over_time) if found or not run.kind.compares else ()


def draw_kind_charts(
    run: Run, samples: Sequence[ChartPoint], elo: ShownElo | None
) -> tuple[Chart, ...]:
    """The charts of what the run measures, over games or iterations."""
    left = leave_out_purged(samples, run)
    points = thin_out([one for one in left if sum(one.pentanomial)])
    return page_of(run.kind).draw_charts(points, elo)


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
    known = thin_out([one for one in samples if one.nps])
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
    scale = make_scale(line[-1].seconds, 0.0, max(one.value for one in line))
    last = show_last(line[-1].value)
    chart = draw_chart(
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


def _choose_spans(seconds: float) -> Iterator[float]:
    """Round times within a range, about as many as fit on an axis."""
    step = next((each for each in SPANS if each * MARKS >= seconds), seconds / MARKS)
    number = 1
    while number * step <= seconds:
        yield number * step
        number += 1
