"""The live Elo of a run: three large dials to watch, and below them the course so far."""

from collections.abc import Mapping
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.core.stats.sprt import Sprt
from rookery.server.boundary.domains import Domain
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import ChartPoint
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.runs.live import LivePages
from rookery.server.show.charts import Chart
from rookery.server.show.dials import Dial, draw_dial
from rookery.server.show.run_charts import draw_kind_charts
from rookery.server.show.statistics import ShownElo, add_present, estimate_run_elo

LEAST_ELO = 4.0
"""The least range of the Elo dial to both sides."""


LARGEST_ELO = 1000.0
Loaded = tuple[Run, datetime, tuple[ChartPoint, ...]]


pages = Pages()
routes = pages.make_routes


@pages("GET /runs/{run_id}/elo", "loads on the loop, computed and rendered in a thread")
async def elo_page(
    run_id: str, viewer: Actor | None, visible: VisibleRuns, clock: Clock, reads: FleetReads
) -> Page:
    """The dials, and below them the course so far."""
    run = await visible.find_part(run_id, viewer)
    loaded = run, clock.now(), await reads.samples(run.id)
    return Page("run_elo.html", loaded, make=show_elo)


@pages("GET /runs/{run_id}/elo/live", "loads on the loop, computed and rendered in a thread")
async def elo_live(
    request: Request, run_id: str, live: LivePages, clock: Clock, reads: FleetReads
) -> Response:
    """The dials alone, for the page's script."""

    async def load(run: Run, _viewer: Actor | None) -> Page:
        loaded = run, clock.now(), await reads.samples(run.id)
        return Page("run_elo_live.html", loaded, make=show_elo)

    return await live.answer_run(request, run_id, load)


@pages("GET /tests/live_elo/{run_id}", "names another address", where=Domain.LOOP)
async def old_elo_address(run_id: str) -> Response:
    """Redirect from the official server's address of a run's live Elo."""
    return redirect_to(f"/runs/{run_id}/elo")


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
