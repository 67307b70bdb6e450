"""The raw statistics of a run: all figures behind its verdict, by pairs and by single games."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import log10, sqrt

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.kinds import SprtTest
from rookery.core.model.run import Run
from rookery.core.model.task import Results
from rookery.core.stats.elo import estimate_elo, live_elo, score_bounds
from rookery.core.stats.likelihood import (
    logistic_ratio,
    measure_shape,
    normalised_elo,
    normalised_ratio,
    pairing_gain,
)
from rookery.core.stats.numbers import NELO_PER_SIGMA, Z95, elo_of, moments, regularised
from rookery.core.stats.sprt import Sprt, SprtState
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.show.run_description import SCALES, NamedValue
from rookery.server.http.answers import site_of
from rookery.server.http.pages.formatting import (
    format_count,
    format_decimal,
    format_elo_interval,
    format_fixed,
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


@dataclass(frozen=True, slots=True)
class FigureGroup:
    """Related figures under a heading."""

    title: str
    figures: tuple[NamedValue, ...]
    note: str = ""


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
    if isinstance(run.kind, SprtTest):
        yield FigureGroup("The sequential test", tuple(_list_test(run.kind, results)))
        yield FigureGroup(
            "Bounds on other scales",
            tuple(_list_bounds(run.kind.spec, results)),
            "As the spread of these results translates them.",
        )
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


def _list_test(kind: SprtTest, results: Results) -> Iterator[NamedValue]:
    spec, state = kind.spec, kind.state
    lower, upper = state.bounds(spec)
    scale = SCALES[spec.model]
    yield NamedValue("H0", f"{format_decimal(spec.elo0)} {scale}")
    yield NamedValue("H1", f"{format_decimal(spec.elo1)} {scale}")
    yield NamedValue("α", format_decimal(spec.alpha))
    yield NamedValue("β", format_decimal(spec.beta))
    yield NamedValue("Batch", f"{format_count(spec.batch_size)} pairs")
    yield NamedValue("LLR", f"{state.llr:.4f}")
    yield NamedValue("Bounds", f"[{spec.lower:.4f}, {spec.upper:.4f}]")
    yield NamedValue("Bounds that decide", f"[{lower:.4f}, {upper:.4f}]")
    yield from _list_overshoot(state)
    found = live_elo(spec, results.pentanomial, results.trinomial)
    yield NamedValue("Elo, median-unbiased", format_elo_interval(found.elo, found.low, found.high))
    yield NamedValue("LOS", format_percent(found.los))


def _list_overshoot(state: SprtState) -> Iterator[NamedValue]:
    jumps = state.overshoot
    if jumps is None:
        text = f"dropped, as {format_count(state.lost_samples)} pairs were struck out"
        yield NamedValue("Overshoot", text)
        return
    yield NamedValue("Overshoot, low", f"{jumps.low:.4f}")
    yield NamedValue("Overshoot, high", f"{jumps.high:.4f}")
    yield NamedValue("Updates skipped", format_count(jumps.skipped_updates))


def _list_bounds(spec: Sprt, results: Results) -> Iterator[NamedValue]:
    pairs = results.pentanomial
    counted = moments(pairs)
    scores = score_bounds(spec, counted, pairs, results.trinomial)
    for name, score in zip(("H0", "H1"), scores, strict=True):
        sigmas = (score - 0.5) / sqrt(counted.variance)
        nelo = sigmas * NELO_PER_SIGMA / sqrt(counted.games_per_sample)
        yield NamedValue(f"{name} as a score", f"{score:.5f}")
        yield NamedValue(f"{name} in logistic Elo", format_signed(elo_of(score)))
        yield NamedValue(f"{name} in normalised Elo", format_signed(nelo))


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
    if isinstance(run.kind, SprtTest):
        yield from _list_ratios(run.kind.spec, bins)


def _list_ratios(spec: Sprt, bins: Sequence[int]) -> Iterator[NamedValue]:
    """The log-likelihood ratio when the same numbers are bounds on either Elo scale."""
    yield NamedValue("LLR, normalised", f"{normalised_ratio(bins, spec.elo0, spec.elo1):.4f}")
    yield NamedValue("LLR, logistic", f"{logistic_ratio(bins, spec.elo0, spec.elo1):.4f}")


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
