"""A calculator for sequential tests: the chance to pass and the length, by true Elo. All input is
in the address, so that it can be shared."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

from msgspec import Meta, Struct
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.sprt import EloModel, Sprt, check_bounds, check_rates
from rookery.core.stats.walk import ScoreSpread, TestLength, length_at, pace_of
from rookery.server.boundary.domains import Domain
from rookery.server.http.form import CHOICE, NUMBER, DeclaredForm, Input, declare
from rookery.server.http.pages.figures import Curve, CurvePoint, Figure, FigureAxes, draw_figure
from rookery.server.http.pages.formatting import format_decimal
from rookery.server.http.pages.page import redirect_to, render_fixed_part
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.show.run_parts import name_scale

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
LONGEST_TEXT = 20
NO_NUMBER = "expected a number"
NO_NUMBERS = "Some of these values are not valid for a test."


Number = Annotated[float, Meta(gt=-1e6, lt=1e6)]


class TypedTest(Struct, frozen=True):
    """What the calculator is asked about."""

    model: Literal["normalized", "logistic"]
    elo0: Number
    elo1: Number
    draw_ratio: Number
    rms_bias: Number
    alpha: Number
    beta: Number


LABELS = {
    "elo0": "Lower bound",
    "elo1": "Upper bound",
    "draw_ratio": "Draw ratio",
    "rms_bias": "RMS bias (Elo)",
    "alpha": "alpha",
    "beta": "beta",
}
MODEL = Input(
    "model",
    "Scale of the bounds",
    CHOICE,
    options=(("normalized", "normalised (nElo)"), ("logistic", "logistic (Elo)")),
    expected="expected normalized or logistic",
)
SHORT = {"maxlength": LONGEST_TEXT}
NUMBERS = (Input(*each, NUMBER, expected=NO_NUMBER, more=SHORT) for each in LABELS.items())
FORM = DeclaredForm(declare(MODEL, *NUMBERS))


pages = Pages()
routes = pages.make_routes


@pages("GET /sprt", "lengths are worked out in a thread")
async def sprt_calculator(request: Request, query: QueryParams) -> Page | Response:
    """The calculator. With `part` in the query only its results, for its script."""
    texts = {name: query.get(name, usual)[:LONGEST_TEXT] for name, usual in USUAL.items()}
    key = tuple(texts.items())
    if query.get("part"):
        return await render_fixed_part(request, "sprt_part.html", show_lengths, texts, key)
    return Page("sprt.html", texts, make=show_lengths, key=key)


@pages("GET /sprt_calc", "leads to another address", where=Domain.LOOP)
async def old_calculator(query: QueryParams) -> Response:
    """Redirect from fishtest's calculator, whose names of models begin with a capital letter."""
    given = {OLD_NAMES.get(name, name): text for name, text in query.items()}
    if "model" in given:
        given["model"] = given["model"].lower()
    known = "&".join(
        f"{name}={text}" for name, text in given.items() if name in USUAL and _is_plain(text)
    )
    return redirect_to(f"{HERE}?{known}" if known else HERE)


def _is_plain(text: str) -> bool:
    letters = all(each.isalnum() or each in "+-." for each in text)
    return text.isascii() and len(text) <= LONGEST_TEXT and letters


def show_lengths(texts: Mapping[str, str]) -> Mapping[str, object]:
    """The values of the page. If the input is wrong, `trouble` is a sentence about it. It computes
    some forty lengths, so call it in a thread."""
    read = FORM.read(TypedTest, texts)
    if read.value is None:
        return {"form": FORM.show(texts, read.errors), "trouble": NO_NUMBERS}
    if errors := dict(_find_errors(read.value)):
        return {"form": FORM.show(texts, errors), "trouble": " ".join(errors.values())}
    asked = read.value
    spread = ScoreSpread(asked.draw_ratio, asked.rms_bias)
    spec = Sprt(asked.elo0, asked.elo1, MODELS[asked.model], asked.alpha, asked.beta)
    return {"form": FORM.show(texts), "trouble": "", **calculate(spec, spread)}


def _find_errors(asked: TypedTest) -> Iterator[tuple[str, str]]:
    """What no test can have, by input."""
    for name, check, values in (
        ("draw_ratio", ScoreSpread, (asked.draw_ratio, asked.rms_bias)),
        ("elo1", check_bounds, (asked.elo0, asked.elo1)),
        ("alpha", check_rates, (asked.alpha, asked.beta)),
    ):
        try:
            check(*values)
        except StatisticsFault as fault:
            yield name, str(fault)


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
