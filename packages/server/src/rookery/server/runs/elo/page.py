"""The live Elo of a run: three large dials to watch, and below them the course so far."""

from collections.abc import Mapping
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.stats.sprt import Sprt
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.charts import Chart
from rookery.server.farm.show.dials import Dial, draw_dial
from rookery.server.farm.show.live import answer_live_run
from rookery.server.farm.show.run_charts import draw_kind_charts
from rookery.server.http.answers import site_of
from rookery.server.http.pages.page import (
    find_run_for,
    redirect_to,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.runs.run.statistics import ShownElo, add_present, estimate_run_elo

LEAST_ELO = 4.0
"""The least range of the Elo dial to both sides."""


LARGEST_ELO = 1000.0
Loaded = tuple[Run, datetime, tuple[ChartPoint, ...]]


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def elo_page(request: Request) -> Response:
    run = await find_run_for(await viewer_of(request), request)
    loaded = await _load(site_of(request), run)
    return await render_page_in_thread(request, "run_elo.html", show_elo, loaded)


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def elo_live(request: Request) -> Response:
    """The dials alone, for the page's script."""

    async def load(run: Run, _viewer: Actor | None) -> Loaded:
        return await _load(site_of(request), run)

    return await answer_live_run(request, "run_elo_live.html", show_elo, load)


@runs(Domain.LOOP, "names another address")
async def old_elo_address(request: Request) -> Response:
    """Redirect from the official server's address of a run's live Elo."""
    return redirect_to(f"/runs/{request.path_params['run_id']}/elo")


async def _load(site: Site, run: Run) -> Loaded:
    return run, site.clock.now(), await site.reads.samples(run.id)


def show_elo(loaded: Loaded) -> Mapping[str, object]:
    """The values of the page. It computes statistics, so call it in a thread."""
    run, now, samples = loaded
    elo, spec, llr = estimate_run_elo(run), run.kind.hypotheses, run.kind.llr
    reach = 0.0 if elo is None else find_reach(elo)
    return {
        "run": run,
        "now": now,
        "elo": elo,
        "reach": reach,
        "llr_dial": None if spec is None or llr is None else draw_llr(spec, llr),
        "los_dial": None if elo is None else draw_dial(elo.los, 0.5),
        "elo_dial": None if elo is None else draw_elo(elo, reach),
        "charts": draw_elo_charts(run, add_present(samples, run, now), elo),
    }


def draw_elo_charts(
    run: Run, samples: tuple[ChartPoint, ...], elo: ShownElo | None
) -> tuple[Chart, ...]:
    return draw_kind_charts(run, samples, elo) if run.kind.compares else ()


def draw_llr(spec: Sprt, llr: float) -> Dial:
    width = spec.upper - spec.lower
    return draw_dial((llr - spec.lower) / width, -spec.lower / width)


def find_reach(elo: ShownElo) -> float:
    """The range of the Elo dial to both sides."""
    reach = max(LEAST_ELO, abs(elo.middle) * 1.5, abs(elo.low), abs(elo.high))
    return min(reach, LARGEST_ELO)


def draw_elo(elo: ShownElo, reach: float) -> Dial:
    middle, *band = ((value + reach) / (2 * reach) for value in (elo.middle, elo.low, elo.high))
    return draw_dial(middle, 0.5, (band[0], band[1]))


def routes() -> list[BaseRoute]:
    return [
        Route("/runs/{run_id}/elo", elo_page, methods=["GET"]),
        Route("/runs/{run_id}/elo/live", elo_live, methods=["GET"]),
        Route("/tests/live_elo/{run_id}", old_elo_address, methods=["GET"]),
    ]
