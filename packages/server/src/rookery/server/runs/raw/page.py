"""The raw statistics of a run: all figures behind its verdict, by pairs and by single games."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import log10, sqrt

from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
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
from rookery.core.stats.sprt import Sprt
from rookery.server.boundary.domains import Domain
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Page, Pages

pages = Pages()
routes = pages.make_routes


@pages("GET /runs/{run_id}/stats", "loads on the loop, computed and rendered in a thread")
async def statistics_page(
    run_id: str, viewer: Actor | None, visible: VisibleRuns, clock: Clock
) -> Page:
    """All figures behind the verdict of a run."""
    loaded = await visible.find_part(run_id, viewer), clock.now()
    return Page("run_stats.html", loaded, make=show_figures)


@pages("GET /tests/stats/{run_id}", "names another address", where=Domain.LOOP)
async def old_statistics_address(run_id: str) -> Response:
    """Redirect from the official server's address of a run's statistics."""
    return redirect_to(f"/runs/{run_id}/stats")


def show_figures(loaded: tuple[Run, datetime]) -> Mapping[str, object]:
    """The values of the page. It computes statistics, so call it in a thread."""
    run, now = loaded
    results = run.tally.results
    shown: dict[str, object] = {"run": run, "now": now}
    if not results.pairs:
        return shown
    spec = run.kind.hypotheses
    return {
        **shown,
        "draw_elo": find_draw_elo(results),
        "test": None if spec is None else live_elo(spec, results.pentanomial, results.trinomial),
        "bounds": () if spec is None else tuple(translate_bounds(spec, results)),
        "pairs": measure_sample(spec, results.pentanomial),
        "singles": measure_sample(spec, results.trinomial),
        "comparison": compare_samples(results),
    }


def find_draw_elo(results: Results) -> float:
    """BayesElo's parameter for the frequency of draws."""
    lost, drawn, won = regularised(results.trinomial)
    total = lost + drawn + won
    losing, winning = lost / total, won / total
    return 200 * log10((1 - losing) / losing * (1 - winning) / winning)


def translate_bounds(spec: Sprt, results: Results) -> Iterator[tuple[str, float, float, float]]:
    """Each hypothesis as a score, in logistic and in normalised Elo, by the spread of these
    results."""
    pairs = results.pentanomial
    counted = moments(pairs)
    scores = score_bounds(spec, counted, pairs, results.trinomial)
    for name, score in zip(("H0", "H1"), scores, strict=True):
        sigmas = (score - 0.5) / sqrt(counted.variance)
        nelo = sigmas * NELO_PER_SIGMA / sqrt(counted.games_per_sample)
        yield name, score, elo_of(score), nelo


def measure_sample(spec: Sprt | None, bins: Sequence[int]) -> Mapping[str, object]:
    """The figures of pairs, or of single games. The ratios are those of a test whose bounds are the
    same numbers on either scale of Elo."""
    counted = moments(bins)
    skew, kurtosis = measure_shape(bins)
    ratios = () if spec is None else (normalised_ratio, logistic_ratio)
    return {
        "bins": bins,
        "counted": counted,
        "elo": estimate_elo(bins),
        "nelo": normalised_elo(bins),
        "shares": [count / counted.samples for count in regularised(bins)],
        "error": Z95 * sqrt(counted.variance / counted.samples),
        "skew": skew,
        "excess": kurtosis - 3,
        "ratios": [ratio(bins, spec.elo0, spec.elo1) for ratio in ratios if spec],
    }


def compare_samples(results: Results) -> Mapping[str, float]:
    """What pairs tell beyond single games."""
    singles, pairs = moments(results.trinomial), moments(results.pentanomial)
    gain = pairing_gain(results.trinomial, results.pentanomial)
    difference = singles.sigma_per_game**2 - pairs.sigma_per_game**2
    bias = sqrt(max(0.0, difference))
    return {
        "ratio": 1 / gain.variance_ratio,
        "difference": difference,
        "bias": bias,
        "bias_elo": elo_of(0.5 + bias),
        "saved": gain.games_saved,
    }
