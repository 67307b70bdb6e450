"""Draws several curves over one axis, with bands and single points. Coordinates are computed here
and printed by `figure.html`. Each curve has a name beside its colour."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from rookery.server.http.pages.drawing import AxisMark, DrawingSize, Scale, choose_steps

SIZE = DrawingSize(wide=640, high=260, left=56, right=628, top=12, bottom=230)

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
    size: DrawingSize = SIZE


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
    scale = _fit_scale(points, axes.floor)
    marks = axes.along or tuple(
        (value, axes.show_x(value)) for value in choose_steps(scale.x_low, scale.x_high)
    )
    return Figure(
        title,
        tuple(_draw_curve(curve, number, scale) for number, curve in enumerate(curves)),
        tuple(
            AxisMark(f"{scale.y(value):.1f}", axes.show_y(value))
            for value in choose_steps(scale.y_low, scale.y_high)
        ),
        tuple(AxisMark(f"{scale.x(value):.1f}", text) for value, text in marks),
        tuple(
            AxisMark(f"{scale.x(value):.1f}", axes.show_x(value))
            for value in axes.upright
            if scale.x_low <= value <= scale.x_high
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


def _fit_scale(points: Sequence[CurvePoint], floor: float | None) -> Scale:
    edges = [edge for point in points for edge in (point.y, point.low, point.high)]
    heights = [edge for edge in edges if edge is not None]
    low, high = min(heights), max(heights)
    room = max(0.05 * (high - low), 1e-6 * max(1.0, abs(high)))
    across = [point.x for point in points]
    bottom = low - room if floor is None else floor
    return Scale(SIZE, min(across), max(across), bottom, max(high + room, bottom + room))


def _draw_curve(curve: Curve, number: int, scale: Scale) -> DrawnCurve:
    number = number if curve.tone is None else curve.tone
    if curve.scattered:
        return DrawnCurve(curve.name, number, points=tuple(_draw_points(curve, scale)))
    line = [(point.x, point.y) for point in curve.points]
    banded = [point for point in curve.points if point.low is not None and point.high is not None]
    upper = [(point.x, point.high or 0.0) for point in banded]
    lower = [(point.x, point.low or 0.0) for point in reversed(banded)]
    band = f"{scale.path([*upper, *lower])}Z" if banded else ""
    return DrawnCurve(curve.name, number, scale.path(line), band, dashed=curve.dashed)


def _draw_points(curve: Curve, scale: Scale) -> Iterator[DrawnPoint]:
    for point in curve.points:
        low = point.y if point.low is None else point.low
        high = point.y if point.high is None else point.high
        yield DrawnPoint(
            f"{scale.x(point.x):.1f}",
            f"{scale.y(point.y):.1f}",
            f"{scale.y(low):.1f}",
            f"{scale.y(high):.1f}",
            point.text,
        )
