"""The raw statistics of a run: all figures behind its verdict, by pairs and by single games."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log10, sqrt

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.run import Run
from rookery.core.model.task import Results
from rookery.core.stats.elo import estimate_elo
from rookery.core.stats.likelihood import (
    measure_shape,
    normalised_elo,
    pairing_gain,
)
from rookery.core.stats.numbers import Z95, elo_of, moments, regularised
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.show.kinds import page_of
from rookery.server.farm.show.run_parts import FigureGroup, NamedValue
from rookery.server.http.answers import site_of
from rookery.server.http.pages.formatting import (
    format_count,
    format_elo_interval,
    format_fixed,
    format_percent,
)
from rookery.server.http.pages.page import (
    find_run_for,
    redirect_to,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.runs.run.heading import RunHeading, make_run_heading


@dataclass(frozen=True, slots=True)
class RunFiguresView:
    heading: RunHeading
    groups: tuple[FigureGroup, ...]


@runs(Domain.THREAD, "loads on the loop, computed and rendered in a thread")
async def statistics_page(request: Request) -> Response:
    run = await find_run_for(await viewer_of(request), request)
    data = run, site_of(request).clock.now()
    return await render_page_in_thread(request, "run_stats.html", make_figures_view, data)


@runs(Domain.LOOP, "names another address")
async def old_statistics_address(request: Request) -> Response:
    """Redirect from the official server's address of a run's statistics."""
    return redirect_to(f"/runs/{request.path_params['run_id']}/stats")


def make_figures_view(data: tuple[Run, datetime]) -> RunFiguresView:
    run, now = data
    return RunFiguresView(make_run_heading(run, now, "stats"), tuple(_list_groups(run)))


def _list_groups(run: Run) -> Iterator[FigureGroup]:
    results = run.tally.results
    if not results.pairs:
        return
    yield FigureGroup("Games", tuple(_list_counts(results)))
    yield from page_of(run.kind).list_figures(results)
    yield FigureGroup("By pairs", tuple(_list_sample(run, results.pentanomial)))
    yield FigureGroup(
        "By single games",
        tuple(_list_sample(run, results.trinomial)),
        "For comparison only: the two games of a pair share their opening and are not independent.",
    )
    yield FigureGroup("Pairs against single games", tuple(_list_comparison(results)))


def _list_counts(results: Results) -> Iterator[NamedValue]:
    games, pairs = results.games, results.pairs
    lost, drawn, won = results.trinomial
    yield NamedValue("Games", format_count(games))
    yield NamedValue("Won", f"{format_count(won)} ({won / games:.2%})")
    yield NamedValue("Lost", f"{format_count(lost)} ({lost / games:.2%})")
    yield NamedValue("Drawn", f"{format_count(drawn)} ({drawn / games:.2%})")
    yield NamedValue("Pairs", format_count(pairs))
    for name, number in zip(("0", "½", "1", "1½", "2"), results.pentanomial, strict=True):
        yield NamedValue(f"Pairs with {name}", f"{format_count(number)} ({number / pairs:.2%})")
    yield NamedValue("Draw Elo", format_fixed(_find_draw_elo(results)))
    yield NamedValue("Crashes", format_count(results.crashes))
    yield NamedValue("Time losses", format_count(results.time_losses))


def _find_draw_elo(results: Results) -> float:
    """BayesElo's parameter for the frequency of draws."""
    lost, drawn, won = regularised(results.trinomial)
    total = lost + drawn + won
    losing, winning = lost / total, won / total
    return 200 * log10((1 - losing) / losing * (1 - winning) / winning)


def _list_sample(run: Run, bins: Sequence[int]) -> Iterator[NamedValue]:
    counted, elo, nelo = moments(bins), estimate_elo(bins), normalised_elo(bins)
    skew, kurtosis = measure_shape(bins)
    error = Z95 * sqrt(counted.variance / counted.samples)
    yield NamedValue("Elo", format_elo_interval(elo.elo, elo.low, elo.high))
    yield NamedValue("LOS", format_percent(elo.los))
    yield NamedValue(
        "Normalised Elo",
        format_elo_interval(nelo.nelo, nelo.nelo - nelo.half_width, nelo.nelo + nelo.half_width),
    )
    yield NamedValue("Results", f"[{', '.join(map(str, bins))}]")
    shares = (count / counted.samples for count in regularised(bins))
    yield NamedValue("Distribution", f"{{{', '.join(f'{share:.4f}' for share in shares)}}}")
    yield NamedValue("Expected value", f"{counted.mean:.5f} ± {error:.5f}")
    yield NamedValue("Variance", f"{counted.variance:.6f}")
    yield NamedValue("Variance of a game", f"{counted.sigma_per_game**2:.6f}")
    yield NamedValue("Skewness", f"{skew:.4f}")
    yield NamedValue("Excess kurtosis", f"{kurtosis - 3:.4f}")
    yield from page_of(run.kind).list_ratios(bins)


def _list_comparison(results: Results) -> Iterator[NamedValue]:
    singles, pairs = moments(results.trinomial), moments(results.pentanomial)
    gain = pairing_gain(results.trinomial, results.pentanomial)
    difference = singles.sigma_per_game**2 - pairs.sigma_per_game**2
    bias = sqrt(max(0.0, difference))
    yield NamedValue("Variance ratio", f"{1 / gain.variance_ratio:.4f}")
    yield NamedValue("Variance difference", f"{difference:.6f}")
    yield NamedValue("Bias of openings, RMS", f"{bias:.4f}")
    yield NamedValue("Bias of openings, Elo", format_fixed(elo_of(0.5 + bias)))
    yield NamedValue("Games saved by pairs", f"{gain.games_saved:.1%}")


def routes() -> list[BaseRoute]:
    return [
        Route("/runs/{run_id}/stats", statistics_page, methods=["GET"]),
        Route("/tests/stats/{run_id}", old_statistics_address, methods=["GET"]),
    ]
