"""The live Elo of a run: three large dials to watch, and below them the course so far."""

from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.charts import Chart
from rookery.server.farm.show.dials import Dial, draw_dial
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.live import answer_live_run
from rookery.server.farm.show.run_charts import draw_kind_charts
from rookery.server.farm.show.run_row import StatusLabel, label_status
from rookery.server.http.answers import site_of
from rookery.server.http.pages.formatting import (
    DASH,
    Moment,
    format_ago,
    format_count,
    format_elo_interval,
    format_percent,
    format_signed,
)
from rookery.server.http.pages.page import (
    find_run_for,
    redirect_to,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.runs.run.heading import RunHeading, make_run_heading
from rookery.server.runs.run.statistics import ShownElo, add_present, estimate_run_elo

LEAST_ELO = 4.0
"""The least range of the Elo dial to both sides."""


@dataclass(frozen=True, slots=True)
class RunEloView:
    heading: RunHeading
    status: StatusLabel
    dials: tuple[Dial, ...]
    charts: tuple[Chart, ...]
    ends: str
    """The Elo and the ends of its interval, for the script of the charts."""
    games: str
    score: str
    updated: Moment


@dataclass(frozen=True, slots=True)
class RunEloData:
    run: Run
    now: datetime
    samples: tuple[ChartPoint, ...] = ()


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def elo_page(request: Request) -> Response:
    run = await find_run_for(await viewer_of(request), request)
    data = await _load(site_of(request), run)
    return await render_page_in_thread(request, "run_elo.html", make_elo_view, data)


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def elo_live(request: Request) -> Response:
    """The dials alone, for the page's script."""

    async def load(run: Run, _viewer: Actor | None) -> RunEloData:
        return await _load(site_of(request), run)

    return await answer_live_run(request, "run_elo_live.html", make_elo_view, load)


@runs(Domain.LOOP, "names another address")
async def old_elo_address(request: Request) -> Response:
    """Redirect from the official server's address of a run's live Elo."""
    return redirect_to(f"/runs/{request.path_params['run_id']}/elo")


async def _load(site: Site, run: Run) -> RunEloData:
    return RunEloData(run, site.clock.now(), await site.reads.samples(run.id))


def make_elo_view(data: RunEloData) -> RunEloView:
    run, now = data.run, data.now
    results, found = run.tally.results, estimate_run_elo(run)
    measured = () if found is None else (_draw_los(found), _draw_elo(found))
    won, lost, drawn = map(format_count, (results.wins, results.losses, results.draws))
    return RunEloView(
        heading=make_run_heading(run, now, "elo"),
        status=label_status(run),
        dials=(*page_of(run.kind).draw_dials(), *measured),
        charts=_draw_charts(data, found),
        ends="" if found is None else found.ends,
        games=format_count(results.games),
        score=f"{won} won, {lost} lost, {drawn} drawn" if results.games else DASH,
        updated=format_ago(run.updated, now),
    )


def _draw_charts(data: RunEloData, found: ShownElo | None) -> tuple[Chart, ...]:
    if not data.run.kind.compares:
        return ()
    return draw_kind_charts(data.run, add_present(data.samples, data.run, data.now), found)


def _draw_los(found: ShownElo) -> Dial:
    ends = ("0 %", "100 %")
    detail = "likelihood of superiority"
    return draw_dial("LOS", format_percent(found.los), detail, ends, found.los, 0.5)


def _draw_elo(found: ShownElo) -> Dial:
    reach = max(LEAST_ELO, abs(found.middle) * 1.5, abs(found.low), abs(found.high))
    reach = min(reach, 1000.0)
    shares = [(value + reach) / (2 * reach) for value in (found.middle, found.low, found.high)]
    return draw_dial(
        "Elo",
        format_signed(found.middle),
        format_elo_interval(found.middle, found.low, found.high),
        (format_signed(-reach, 0), format_signed(reach, 0)),
        shares[0],
        0.5,
        (shares[1], shares[2]),
    )


def routes() -> list[BaseRoute]:
    return [
        Route("/runs/{run_id}/elo", elo_page, methods=["GET"]),
        Route("/runs/{run_id}/elo/live", elo_live, methods=["GET"]),
        Route("/tests/live_elo/{run_id}", old_elo_address, methods=["GET"]),
    ]
