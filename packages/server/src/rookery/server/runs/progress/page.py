"""An engine's progress: its accepted commits with chained Elo, direct matches, and the cost of an
Elo point. A job computes it, and the page reads the result."""

from collections.abc import Iterator, Mapping
from functools import partial

from rookery.core.model.actor import Actor
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.farm.rules.progress import EngineProgress
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import (
    format_count,
    format_day,
    format_decimal,
    format_elo,
)
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.show.run_description import GITHUB
from rookery.server.sources.progress import ProgressKeeping

MOST_ROWS = 300
MARKS = (0.08, 0.36, 0.64, 0.92)
"""The positions of dates along the axis, as shares of its length."""
LENGTHS = ("STC", "LTC", "VLTC")
"""The time classes in the order of their colours. Tests with several threads are dashed."""
CLASSES = (*LENGTHS, *(f"{name} SMP" for name in LENGTHS))


pages = Pages()
routes = pages.make_routes


@pages("GET /engines/{name}/progress", "one query; the page is made in a thread")
async def engine_progress(
    name: str, viewer: Actor | None, privacy: Privacy, keeping: ProgressKeeping
) -> Page:
    """The progress of an engine."""
    known = privacy.catalogue(name_of(viewer)).engines
    if name not in known:
        raise NotFound
    make = partial(show_progress, name, known[name].repository)
    return Page("progress.html", await keeping.load(name), make=make)


def show_progress(
    engine: str, repository: str, progress: EngineProgress | None
) -> Mapping[str, object]:
    """The values of the page."""
    classes = list_classes(progress) if progress else ()
    return {
        "engine": engine,
        "commits": f"{repository}/commit/" if repository.startswith(GITHUB) else "",
        "progress": progress,
        "classes": classes,
        "figure": draw_progress(progress, classes) if progress and classes else None,
        "most_rows": MOST_ROWS,
    }


def list_classes(progress: EngineProgress) -> tuple[str, ...]:
    """The time classes with accepted commits, in the order of the page."""
    seen = {name for each in progress.accepted for name in each.measured}
    return tuple(name for name in CLASSES if name in seen)


def draw_progress(progress: EngineProgress, classes: tuple[str, ...]) -> Figure | None:
    """Chained Elo over the commits of the branch, and direct matches at their later commit."""
    curves = [_make_curve(progress, name) for name in classes]
    first = {name: curve.points[0] for name, curve in zip(classes, curves, strict=False)}
    direct = tuple(
        CurvePoint(
            match.commit.place,
            measured.elo,
            measured.elo - measured.error,
            measured.elo + measured.error,
            f"{format_elo(measured.elo, measured.error)} Elo at {match.time_class}, direct",
        )
        for match in progress.direct
        if not first or match.base.place <= min(point.x for point in first.values())
        for measured in (match.measured,)
    )
    if direct:
        curves.append(Curve("measured directly", direct, scattered=True, tone=len(LENGTHS)))
    along = _dates(progress)
    axes = FigureAxes(format_count, format_decimal, "commits of the main branch", along=along)
    return draw_figure("Elo gained since the first accepted commit", curves, axes)


def _make_curve(progress: EngineProgress, name: str) -> Curve:
    length, _, smp = name.partition(" ")
    points = tuple(_list_points(progress, name))
    return Curve(name, points, tone=LENGTHS.index(length), dashed=bool(smp))


def _list_points(progress: EngineProgress, name: str) -> Iterator[CurvePoint]:
    for each in progress.accepted:
        found = each.chained.get(name)
        if found is not None:
            low, high = found.elo - found.error, found.elo + found.error
            yield CurvePoint(each.commit.place, found.elo, low, high)


def _dates(progress: EngineProgress) -> tuple[tuple[float, str], ...]:
    """The dates of some commits, as marks of the axis."""
    commits = [each.commit for each in progress.accepted]
    if not commits:
        return ()
    low, high = commits[0].place, commits[-1].place
    wanted = [low + (high - low) * share for share in MARKS]
    near = (min(commits, key=lambda each: abs(each.place - place)) for place in wanted)
    return tuple((float(each.place), format_day(each.at)) for each in dict.fromkeys(near))
