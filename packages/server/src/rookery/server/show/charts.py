"""Charts: coordinates of lines, bands and marks, which templates print as SVG."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.pages.drawing import AxisMark, DrawingSize, Point, Scale, choose_steps
from rookery.server.http.pages.formatting import format_count, format_decimal

SIZE = DrawingSize(wide=640, high=200, left=44, right=632, top=10, bottom=174)
MOST_POINTS = 160
"""The most points of a line. More could not be told apart."""


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


def draw_chart(
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
            AxisMark(place(scale.y(v)), show_y(v)) for v in choose_steps(scale.y_low, scale.y_high)
        ),
        along=tuple(
            AxisMark(place(scale.x(v)), show_x(v))
            for v in steps or choose_steps(0.0, scale.x_high)
            if v
        ),
        rules=rules,
        last_x=place(scale.x(x)),
        last_y=place(scale.y(y)),
        last=last,
        points=points,
    )


def make_scale(most_x: float, low: float, high: float) -> Scale:
    room = max(0.05 * (high - low), 0.01)
    return Scale(SIZE, 0.0, max(1.0, most_x), low - room, high + room)


def thin_out(samples: Sequence[ChartPoint]) -> list[ChartPoint]:
    """Evenly chosen points, including the last one."""
    step = max(1, math.ceil(len(samples) / MOST_POINTS))
    kept = list(samples[::step])
    if samples and kept[-1] is not samples[-1]:
        kept.append(samples[-1])
    return kept


def place(value: float) -> str:
    """A coordinate as it is printed."""
    return f"{value:.1f}"
