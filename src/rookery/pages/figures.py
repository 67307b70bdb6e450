"""Draws several curves over one axis, with bands and single points. Coordinates are computed here
and printed by `figure.html`. Each curve has a name beside its colour."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from rookery.pages.charts import AxisMark, choose_steps

WIDE, HIGH = 640.0, 260.0
LEFT, RIGHT, TOP, BOTTOM = 56.0, 12.0, 12.0, 30.0

Shown = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """A point of a curve. `low` and `high` are the edges of its band, if it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    text: str = ""
    """The description of a single point."""


@dataclass(frozen=True, slots=True)
class Curve:
    """A named series, drawn as a line or as single points with error bars."""

    name: str
    points: tuple[CurvePoint, ...]
    scattered: bool = False
    tone: int | None = None
    """The number of its colour; None chooses the one for its position among the curves."""
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class DrawnPoint:
    x: str
    y: str
    low: str
    high: str
    text: str


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    """The paths of a curve; a scattered one has points instead. `number` is its colour."""

    name: str
    number: int
    line: str = ""
    band: str = ""
    points: tuple[DrawnPoint, ...] = ()
    dashed: bool = False

    @property
    def sign(self) -> str:
        """The mark of the curve in the legend."""
        return "●" if self.points else "╍╍" if self.dashed else "▬"


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing of `wide` by `high`. `upright` are positions along the axis with a meaning."""

    title: str
    curves: tuple[DrawnCurve, ...]
    across: tuple[AxisMark, ...]
    along: tuple[AxisMark, ...]
    upright: tuple[AxisMark, ...]
    unit: str
    """The unit of the horizontal axis."""
    data: str
    """The points as JSON, for the script that draws them again."""
    wide: str = f"{WIDE:.0f}"
    high: str = f"{HIGH:.0f}"
    left: str = f"{LEFT:.0f}"
    right: str = f"{WIDE - RIGHT:.0f}"
    top: str = f"{TOP:.0f}"
    bottom: str = f"{HIGH - BOTTOM:.0f}"


@dataclass(frozen=True, slots=True)
class FigureAxes:
    """The labels of the axes."""

    show_x: Shown
    show_y: Shown
    unit: str = ""
    upright: tuple[float, ...] = ()
    floor: float | None = None
    """The lower end of the vertical axis, if it is fixed."""
    along: tuple[tuple[float, str], ...] = field(default=())
    """The marks of the horizontal axis, if they are not round numbers."""


def draw_figure(title: str, curves: Sequence[Curve], axes: FigureAxes) -> Figure | None:
    """The figure; None if there are fewer than two different positions to draw."""
    points = [point for curve in curves for point in curve.points]
    across = [point.x for point in points]
    if not points or min(across) == max(across):
        return None
    place = _Placing.around(points, axes.floor)
    marks = axes.along or tuple(
        (value, axes.show_x(value)) for value in choose_steps(place.x_low, place.x_high)
    )
    return Figure(
        title,
        tuple(_draw_curve(curve, number, place) for number, curve in enumerate(curves)),
        tuple(
            AxisMark(f"{place.y(value):.1f}", axes.show_y(value))
            for value in choose_steps(place.y_low, place.y_high)
        ),
        tuple(AxisMark(f"{place.x(value):.1f}", text) for value, text in marks),
        tuple(
            AxisMark(f"{place.x(value):.1f}", axes.show_x(value))
            for value in axes.upright
            if place.x_low <= value <= place.x_high
        ),
        axes.unit,
        _write_data(curves, axes),
    )


def _write_data(curves: Sequence[Curve], axes: FigureAxes) -> str:
    written = {"curves": [_spell_curve(curve) for curve in curves], "marks": axes.along}
    return msgspec.json.encode(written).decode()


def _spell_curve(curve: Curve) -> dict[str, object]:
    """A curve as the lists that figure_charts.js reads."""
    points = sorted(curve.points, key=lambda point: point.x)
    return {
        "name": curve.name,
        "scattered": curve.scattered,
        "tone": curve.tone,
        "dashed": curve.dashed,
        "x": [point.x for point in points],
        "y": [round(point.y, 3) for point in points],
        "low": [round(point.y if point.low is None else point.low, 3) for point in points],
        "high": [round(point.y if point.high is None else point.high, 3) for point in points],
    }


@dataclass(frozen=True, slots=True)
class _Placing:
    """Converts values into positions on the drawing."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    @classmethod
    def around(cls, points: Sequence[CurvePoint], floor: float | None) -> "_Placing":
        edges = [edge for point in points for edge in (point.y, point.low, point.high)]
        heights = [edge for edge in edges if edge is not None]
        low, high = min(heights), max(heights)
        room = max(0.05 * (high - low), 1e-6 * max(1.0, abs(high)))
        across = [point.x for point in points]
        bottom = low - room if floor is None else floor
        return cls(min(across), max(across), bottom, max(high + room, bottom + room))

    def x(self, value: float) -> float:
        share = (value - self.x_low) / (self.x_high - self.x_low)
        return LEFT + (WIDE - LEFT - RIGHT) * share

    def y(self, value: float) -> float:
        share = (value - self.y_low) / (self.y_high - self.y_low)
        return HIGH - BOTTOM - (HIGH - TOP - BOTTOM) * min(1.0, max(0.0, share))


def _draw_curve(curve: Curve, number: int, place: _Placing) -> DrawnCurve:
    number = number if curve.tone is None else curve.tone
    if curve.scattered:
        return DrawnCurve(curve.name, number, points=tuple(_draw_points(curve, place)))
    line = [(place.x(point.x), place.y(point.y)) for point in curve.points]
    banded = [point for point in curve.points if point.low is not None and point.high is not None]
    upper = [(place.x(point.x), place.y(point.high or 0.0)) for point in banded]
    lower = [(place.x(point.x), place.y(point.low or 0.0)) for point in reversed(banded)]
    band = f"{_path([*upper, *lower])}Z" if banded else ""
    return DrawnCurve(curve.name, number, _path(line), band, dashed=curve.dashed)


def _draw_points(curve: Curve, place: _Placing) -> Iterator[DrawnPoint]:
    for point in curve.points:
        low = point.y if point.low is None else point.low
        high = point.y if point.high is None else point.high
        yield DrawnPoint(
            f"{place.x(point.x):.1f}",
            f"{place.y(point.y):.1f}",
            f"{place.y(low):.1f}",
            f"{place.y(high):.1f}",
            point.text,
        )


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points) if points else ""
