"""An engine's progress: its accepted commits with chained Elo, direct matches, and the cost of an
Elo point. A job computes it, and the page reads the result."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.progress import EngineProgress, MeasuredElo
from rookery.server.farm.show.run_description import GITHUB
from rookery.server.http.answers import site_of
from rookery.server.http.faults import NotFound
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import (
    format_count,
    format_decimal,
    format_elo,
    format_plural,
)
from rookery.server.http.pages.page import render_page_in_thread, viewer_of

MOST_ROWS = 300
SHORT = 10
MARKS = (0.08, 0.36, 0.64, 0.92)
"""The positions of dates along the axis, as shares of its length."""
LENGTHS = ("STC", "LTC", "VLTC")
"""The time classes in the order of their colours. Tests with several threads are dashed."""
CLASSES = (*LENGTHS, *(f"{name} SMP" for name in LENGTHS))
DASH = "–"


@dataclass(frozen=True, slots=True)
class ProgressData:
    engine: str
    repository: str
    progress: EngineProgress | None


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """The totals of all accepted tests of a time class."""

    name: str
    elo: str
    commits: str
    hours: str
    per_elo: str


@dataclass(frozen=True, slots=True)
class MeasuredLine:
    """Elo at one time control, with the run that measured it and the sum so far."""

    name: str
    elo: str
    run: str
    chained: str


@dataclass(frozen=True, slots=True)
class AcceptedRow:
    date: str
    sha: str
    link: str
    subject: str
    measured: tuple[MeasuredLine, ...]


@dataclass(frozen=True, slots=True)
class DirectRow:
    """A match between two commits of the branch, and the chained Elo between them."""

    time_class: str
    new: str
    base: str
    run: str
    measured: str
    chained: str


@dataclass(frozen=True, slots=True)
class ProgressView:
    engine: str
    summaries: tuple[ClassSummary, ...] = ()
    figure: Figure | None = None
    accepted: tuple[AcceptedRow, ...] = ()
    direct: tuple[DirectRow, ...] = ()
    left_out: int = 0
    looked_at: str = ""
    """What is known about the branch if nothing was accepted."""


@runs(Domain.THREAD, "one query; the page is made in a thread")
async def engine_progress(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    name = str(request.path_params["name"])
    known = site.privacy.catalogue(None if viewer is None else viewer.name).engines
    if name not in known:
        raise NotFound
    data = ProgressData(name, known[name].repository, await site.progress_keeping.load(name))
    return await render_page_in_thread(request, "progress.html", make_view, data)


def make_view(data: ProgressData) -> ProgressView:
    progress = data.progress
    if progress is None or not (progress.accepted or progress.direct):
        return ProgressView(data.engine, looked_at=_describe_branch(progress))
    seen = {name for each in progress.accepted for name in each.measured}
    classes = tuple(name for name in CLASSES if name in seen)
    rows = tuple(_list_accepted(data, progress, classes))
    return ProgressView(
        data.engine,
        tuple(_summarise(progress, name) for name in classes),
        draw_progress(progress, classes),
        rows[:MOST_ROWS],
        tuple(_list_direct(progress)),
        max(0, len(rows) - MOST_ROWS),
    )


def _describe_branch(progress: EngineProgress | None) -> str:
    if progress is None:
        return ""
    commits, tests = format_plural(progress.branch, "commit"), format_plural(progress.tests, "test")
    return f"The branch has {commits} now; {tests} of its commits were long enough to count."


def _summarise(progress: EngineProgress, name: str) -> ClassSummary:
    last, per_elo = progress.accepted[-1].chained[name], progress.hours_per_elo(name)
    commits = sum(name in each.measured for each in progress.accepted)
    return ClassSummary(
        name,
        _show(last),
        format_plural(commits, "commit"),
        format_count(progress.hours.get(name, 0.0)),
        DASH if per_elo is None else format_count(per_elo),
    )


def _show(measured: MeasuredElo) -> str:
    return format_elo(measured.elo, measured.error)


def _list_accepted(
    data: ProgressData, progress: EngineProgress, classes: tuple[str, ...]
) -> Iterator[AcceptedRow]:
    """The accepted commits, latest first."""
    for each in reversed(progress.accepted):
        commit = each.commit
        github = data.repository.startswith(GITHUB)
        yield AcceptedRow(
            date=_date(commit.time),
            sha=commit.sha[:SHORT],
            link=f"{data.repository}/commit/{commit.sha}" if github else "",
            subject=commit.subject,
            measured=tuple(
                MeasuredLine(name, _show(elo), each.runs[name], _show(each.chained[name]))
                for name in classes
                if (elo := each.measured.get(name))
            ),
        )


def _list_direct(progress: EngineProgress) -> Iterator[DirectRow]:
    for each in sorted(progress.direct, key=lambda one: -one.commit.place):
        yield DirectRow(
            each.time_class,
            f"{each.commit.sha[:SHORT]} ({_date(each.commit.time)})",
            f"{each.base.sha[:SHORT]} ({_date(each.base.time)})",
            each.run,
            _show(each.measured),
            _show(each.chained) if each.chained.error else DASH,
        )


def draw_progress(progress: EngineProgress, classes: tuple[str, ...]) -> Figure | None:
    """Chained Elo over the commits of the branch, and direct matches at their later commit."""
    curves = [_make_curve(progress, name) for name in classes]
    first = {name: curve.points[0] for name, curve in zip(classes, curves, strict=False)}
    direct = tuple(
        CurvePoint(
            each.commit.place,
            each.measured.elo,
            each.measured.elo - each.measured.error,
            each.measured.elo + each.measured.error,
            f"{_show(each.measured)} Elo at {each.time_class}, direct",
        )
        for each in progress.direct
        if not first or each.base.place <= min(point.x for point in first.values())
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
    return tuple((float(each.place), _date(each.time)) for each in dict.fromkeys(near))


def _date(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def routes() -> list[BaseRoute]:
    return [Route("/engines/{name}/progress", engine_progress, methods=["GET"])]
