"""A calculator for sequential tests: the chance to pass and the length, by true Elo. All input is
in the address, so that it can be shared."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.core.stats.walk import ScoreSpread, TestLength, length_at, pace_of
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.show.run_parts import name_scale
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import format_decimal
from rookery.server.http.pages.page import redirect_to, render_fixed_page, render_fixed_part

HERE = "/sprt"
USUAL: Mapping[str, str] = {
    "model": "normalized",
    "elo0": "0",
    "elo1": "2",
    "alpha": "0.05",
    "beta": "0.05",
    "draw_ratio": "0.49",
    "rms_bias": "191",
}
"""The defaults: Stockfish's short test, and typical outcomes of its games from an unbalanced
book."""
OLD_NAMES = {
    "elo_model": "model",
    "elo-model": "model",
    "elo-0": "elo0",
    "elo-1": "elo1",
    "draw-ratio": "draw_ratio",
    "rms-bias": "rms_bias",
}
"""The names of inputs in the addresses of fishtest's calculator."""
ROWS, POINTS = 9, 41
"""The number of table rows and of curve points. A point takes about a millisecond."""
WIDTHS = 1.5
"""How far beyond the bounds the curves are drawn, as a multiple of the distance between them."""
MODELS = {"normalized": EloModel.NORMALISED, "logistic": EloModel.LOGISTIC}
NO_NUMBER = "expected a number"
NO_NUMBERS = "Some of these values are not valid for a test."


@runs(Domain.THREAD, "lengths are worked out in a thread")
async def sprt_calculator(request: Request) -> Response:
    texts = {name: request.query_params.get(name, usual)[:20] for name, usual in USUAL.items()}
    key = tuple(texts.items())
    if request.query_params.get("part"):
        return await render_fixed_part(request, "sprt_part.html", show_lengths, texts, key)
    return await render_fixed_page(request, "sprt.html", show_lengths, texts, key)


@runs(Domain.LOOP, "leads to another address")
async def old_calculator(request: Request) -> Response:
    """Redirect from fishtest's calculator, whose names of models begin with a capital letter."""
    given = {OLD_NAMES.get(name, name): text for name, text in request.query_params.items()}
    if "model" in given:
        given["model"] = given["model"].lower()
    known = "&".join(
        f"{name}={text}" for name, text in given.items() if name in USUAL and _is_plain(text)
    )
    return redirect_to(f"{HERE}?{known}" if known else HERE)


def _is_plain(text: str) -> bool:
    letters = all(each.isalnum() or each in "+-." for each in text)
    return text.isascii() and len(text) <= 20 and letters


def show_lengths(texts: Mapping[str, str]) -> Mapping[str, object]:
    """The values of the page. If the input is wrong, `trouble` is a sentence about it and `errors`
    has messages by input. It computes some forty lengths, so call it in a thread."""
    numbers, errors = dict[str, float](), dict[str, str]()
    for name in ("elo0", "elo1", "alpha", "beta", "draw_ratio", "rms_bias"):
        try:
            numbers[name] = _read_number(texts[name])
        except ValueError:
            errors[name] = NO_NUMBER
    if texts["model"] not in MODELS:
        errors["model"] = "expected normalized or logistic"
    if errors:
        return {"texts": texts, "errors": errors, "trouble": NO_NUMBERS}
    try:
        spread = ScoreSpread(numbers["draw_ratio"], numbers["rms_bias"])
        bounds = (numbers["elo0"], numbers["elo1"])
        spec = Sprt(*bounds, MODELS[texts["model"]], numbers["alpha"], numbers["beta"])
    except StatisticsFault as fault:
        trouble = str(fault)
        return {"texts": texts, "errors": {_place_fault(trouble): trouble}, "trouble": trouble}
    return {"texts": texts, "errors": {}, "trouble": "", **calculate(spec, spread)}


def _read_number(text: str) -> float:
    """The number. Raises ValueError, also for infinity and NaN."""
    found = float(text)
    if not abs(found) < 1e6:
        raise ValueError(text)
    return found


def _place_fault(text: str) -> str:
    if "draw" in text:
        return "draw_ratio"
    return "alpha" if "alpha" in text else "elo1"


def calculate(spec: Sprt, spread: ScoreSpread) -> Mapping[str, object]:
    """Chances and lengths by true Elo, as curves and for some values as rows."""
    width = spec.elo1 - spec.elo0
    low = spec.elo0 - WIDTHS * width
    step = (1 + 2 * WIDTHS) * width / (POINTS - 1)
    pace = pace_of(spec, spread.sigma)
    lengths = [length_at(pace, low + step * number) for number in range(POINTS)]
    every = (POINTS - 1) // (ROWS - 1)
    return {
        "spec": spec,
        "figures": tuple(filter(None, draw_lengths(spec, lengths))),
        "rows": [(each, *convert_elo(each.elo, spec, spread)) for each in lengths[::every]],
        "longest": max(lengths, key=lambda each: each.mean_games),
    }


def draw_lengths(spec: Sprt, lengths: Sequence[TestLength]) -> Iterator[Figure | None]:
    axes = partial(
        FigureAxes,
        show_x=format_decimal,
        unit=f"true {name_scale(spec)}",
        upright=(spec.elo0, spec.elo1),
        floor=0.0,
    )
    passing = tuple(CurvePoint(each.elo, 100 * each.pass_chance) for each in lengths)
    lasting = tuple(
        CurvePoint(each.elo, each.mean_games, each.games.early, each.games.late) for each in lengths
    )
    passes = [Curve("passes", passing)]
    yield draw_figure("Chance to pass, %", passes, axes(show_y=format_decimal))
    games = [Curve("games", lasting)]
    title = "Games until it ends: mean, and 8 of 10 tests"
    yield draw_figure(title, games, axes(show_y=_show_thousands))


def convert_elo(elo: float, spec: Sprt, spread: ScoreSpread) -> tuple[float, float]:
    """An Elo on the scale of the bounds, on the normalised and on the logistic scale."""
    if spec.model is EloModel.NORMALISED:
        return elo, spread.elo_of(elo)
    return spread.nelo_of(elo), elo


def _show_thousands(games: float) -> str:
    """A short mark of an axis, such as 400k."""
    return f"{format_decimal(games / 1000)}k" if games >= 1000 else format_decimal(games)


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, sprt_calculator, methods=["GET"]),
        Route("/sprt_calc", old_calculator, methods=["GET"]),
    ]
