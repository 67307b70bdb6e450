"""`rookery stats`: Elo, SPRT, live Elo, power and outlook for results on the command line, and the
lines of a tune."""

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from rookery.core.command import (
    OR_STDIN,
    BadArgument,
    Bounds,
    Schedule,
    command_group,
    option,
    print_rows,
    read_many_bounds,
    read_text_file,
    single,
)
from rookery.core.stats.elo import FixedTest
from rookery.core.stats.numbers import StatisticsFault
from rookery.core.stats.outlook import Belief, usual_prior
from rookery.core.stats.sprt import EloModel, Sprt
from rookery.core.stats.spsa import Tune, as_lines, as_options, as_pairs, as_setoption, new_tune
from rookery.core.stats.spsa_parameters import remarks
from rookery.core.stats.walk import pace_of
from rookery.match.commands.stats_answers import (
    Answer,
    ResultFlags,
    answer_chances,
    answer_elo,
    answer_lengths,
    answer_live,
    answer_power,
    answer_sprt,
)

LEAST, MOST = 1e-9, 1e12
MODELS = {model.value.lower(): model for model in EloModel} | {"normalised": EloModel.NORMALISED}

stats = command_group(
    "stats",
    "Calculate Elo, SPRT, power and expected length of results given here.",
    """\
  rookery stats elo --wdl 120 80 300
  rookery stats sprt --pentanomial 10 50 120 70 14 --sprt 0 2
  rookery stats outlook --sprt 0 2""",
)


def read_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a number.")
    return number


def read_positive(text: str) -> float:
    number = read_number(text)
    if not LEAST <= number <= MOST:
        raise ValueError(f"{text!r} is not between {LEAST:g} and {MOST:g}.")
    return number


def read_model(text: str) -> EloModel:
    if text.lower() not in MODELS:
        raise ValueError(f"{text!r} is none of normalized, logistic, BayesElo.")
    return MODELS[text.lower()]


Json = Annotated[bool, option("print JSON")]
Number = Annotated[float, Parameter(converter=single(read_number), metavar="X")]
Positive = Annotated[float, Parameter(converter=single(read_positive), metavar="N")]


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TestFlags:
    """The sequential test of a question."""

    sprt: Annotated[Bounds, option("the Elo to reject and the Elo to accept")] = None
    elo0: Annotated[Number | None, option("the Elo to reject, if --sprt is not given")] = None
    elo1: Annotated[Number | None, option("the Elo to accept, if --sprt is not given")] = None
    model: Annotated[
        EloModel,
        option(
            "scale of the bounds: normalized, logistic, BayesElo (default: normalized)",
            "MODEL",
            converter=single(read_model),
            show_choices=False,
            show_default=False,
        ),
    ] = EloModel.NORMALISED
    alpha: Annotated[Number, option("chance of a wrong pass")] = 0.05
    beta: Annotated[Number, option("chance of a wrong fail")] = 0.05

    def test(self) -> Sprt:
        """The test from the flags. Raises BadArgument."""
        if self.sprt is not None:
            return self.with_bounds(*self.sprt)
        if self.elo0 is None or self.elo1 is None:
            raise BadArgument("Give the bounds by --sprt ELO0 ELO1, or by --elo0 and --elo1.")
        return self.with_bounds(self.elo0, self.elo1)

    def with_bounds(self, elo0: float, elo1: float) -> Sprt:
        return Sprt(elo0, elo1, self.model, self.alpha, self.beta)


NO_RESULTS = ResultFlags()
NO_TEST = TestFlags()


def _tell(answer: Callable[[], Answer], *, as_json: bool) -> None:
    try:
        found = answer()
    except StatisticsFault as fault:
        raise BadArgument(str(fault)) from fault
    if as_json:
        print(json.dumps(found.data, allow_nan=False))
    else:
        print_rows(found.rows)


@stats.command
def elo(*, results: ResultFlags = NO_RESULTS, json: Json = False) -> None:
    """Show Elo, its interval and the likelihood of superiority."""
    _tell(lambda: answer_elo(results), as_json=json)


@stats.command
def sprt(
    *,
    results: ResultFlags = NO_RESULTS,
    test: TestFlags = NO_TEST,
    would_have: Annotated[
        list[tuple[float, float]] | None,
        option(
            "what other bounds would have said (never a verdict); may be repeated",
            "ELO0,ELO1",
            converter=read_many_bounds,
            n_tokens=1,
            accepts_keys=False,
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Show the likelihood ratio and the state of an SPRT."""

    def answer() -> Answer:
        others = [test.with_bounds(*bounds) for bounds in would_have or ()]
        return answer_sprt(results, test.test(), others)

    _tell(answer, as_json=json)


@stats.command
def live(
    *, results: ResultFlags = NO_RESULTS, test: TestFlags = NO_TEST, json: Json = False
) -> None:
    """Show the unbiased Elo of a running or ended SPRT."""
    _tell(lambda: answer_live(results, test.test()), as_json=json)


@stats.command
def power(
    *,
    games: Annotated[Positive | None, option("games to be played")] = None,
    elo: Annotated[Number | None, option("true logistic Elo of the new version")] = None,
    power: Annotated[
        Positive | None, option("wanted chance to find that it is better", "P")
    ] = None,
    alpha: Annotated[Positive, option("chance of a false alarm", "P")] = 0.05,
    results: ResultFlags = NO_RESULTS,
    json: Json = False,
) -> None:
    """Calculate what a number of games can show. Results, if given, say how much games vary."""
    if games is None and (elo is None or power is None):
        raise BadArgument("Give --games, or --elo and --power.")
    if games is not None and elo is not None and power is not None:
        raise BadArgument("Of --games, --elo and --power give at most two.")
    _tell(
        lambda: answer_power(FixedTest(results.sigma, alpha), games=games, elo=elo, power=power),
        as_json=json,
    )


@stats.command
def outlook(  # noqa: PLR0913 - each is a flag
    *,
    results: ResultFlags = NO_RESULTS,
    test: TestFlags = NO_TEST,
    true_elo: Annotated[
        list[float] | None,
        option(
            "true Elo to show lengths for, on the scale of the bounds", "X", consume_multiple=True
        ),
    ] = None,
    prior: Annotated[
        tuple[float, float] | None, option("prior of the true Elo", "MEAN SIGMA")
    ] = None,
    max_games: Annotated[
        Positive | None, option("games after which the test ends in any case")
    ] = None,
    games_per_minute: Annotated[Positive | None, option("show times too")] = None,
    json: Json = False,
) -> None:
    """Show how long an SPRT takes before it starts, or its chances so far."""

    def answer() -> Answer:
        spec = test.test()
        pace = pace_of(spec, results.sigma)
        if true_elo or not results.given:
            return answer_lengths(pace, true_elo or [], max_games)
        belief = Belief(*prior) if prior else usual_prior(spec)
        return answer_chances(
            results, pace, belief, max_games=max_games, games_per_minute=games_per_minute
        )

    _tell(answer, as_json=json)


@dataclass(frozen=True, slots=True)
class SpsaSteps:
    """The steps of a parameter at one iteration, and how far a result of +1 moves it."""

    iteration: int
    name: str
    c: float
    r: float
    move: float


Form = Literal["pairs", "options", "setoption", "lines"]
USUAL_SCHEDULE = Schedule()


@stats.command
def spsa(  # noqa: PLR0913 - each is a flag
    file: Annotated[
        str, OR_STDIN, option("parameter lines of 6 or 7 fields; - reads standard input")
    ],
    /,
    *,
    games: Annotated[int, option("length of the tune", "N")] = 60_000,
    schedule: Schedule = USUAL_SCHEDULE,
    at: Annotated[
        list[int] | None, option("iterations to show", "K", consume_multiple=True)
    ] = None,
    known: Annotated[
        list[str] | None,
        option("options that the engine has, to check names", "NAME", consume_multiple=True),
    ] = None,
    set: Annotated[  # noqa: A002 - its name
        list[str] | None, option("values to write instead", "NAME=VALUE", consume_multiple=True)
    ] = None,
    form: Annotated[Form, option("how values are written", "FORM")] = "setoption",
    json: Json = False,
) -> None:
    """Check the lines of a tune, show its steps, write values in other forms."""
    tune = new_tune(
        sys.stdin.read() if file == "-" else read_text_file(Path(file)), games, **asdict(schedule)
    )
    last = tune.schedule.last
    steps = tuple(_steps(tune, [0, last // 10, last // 2, last] if at is None else at))
    warnings = tuple(remark.text for remark in remarks(tune.parameters, known))
    values = _written(tune, _values(tune, set or ()), form)
    if json:
        _print_report(tune, steps, warnings, values)
        return
    print(f"{tune.schedule.iterations} iterations (pairs), A = {tune.schedule.stability}")
    width = max((len(step.name) for step in steps), default=4)
    print(f"{'iteration':>9}  {'name':<{width}}  {'c':>12}  {'R':>12}  {'move per win':>12}")
    for step in steps:
        figures = f"{step.c:>12.6g}  {step.r:>12.6g}  {step.move:>12.6g}"
        print(f"{step.iteration:>9}  {step.name:<{width}}  {figures}")
    print(*(f"warning: {text}" for text in warnings), *values, sep="\n")


def _print_report(
    tune: Tune, steps: Sequence[SpsaSteps], warnings: Sequence[str], values: Sequence[str]
) -> None:
    report = {
        "iterations": tune.schedule.iterations,
        "stability": tune.schedule.stability,
        "schedule": list(map(asdict, steps)),
        "warnings": warnings,
        "values": values,
    }
    print(json.dumps(report))


def _steps(tune: Tune, iterations: Sequence[int]) -> Iterator[SpsaSteps]:
    for iteration in sorted({max(iteration, 0) for iteration in iterations}):
        for parameter, step in zip(tune.parameters, tune.steps(iteration), strict=True):
            yield SpsaSteps(iteration, parameter.line.name, step.c, step.r, step.r * step.c)


def _values(tune: Tune, settings: Sequence[str]) -> tuple[float, ...]:
    values = {parameter.line.name: parameter.line.start for parameter in tune.parameters}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in values:
            raise BadArgument(f"No parameter is named {name}.")
        try:
            values[name] = read_number(text)
        except ValueError:
            raise BadArgument(f"{setting} is not NAME=NUMBER.") from None
    return tuple(values.values())


def _written(tune: Tune, values: tuple[float, ...], form: Form) -> tuple[str, ...]:
    if form == "options":
        return (as_options(tune, values),)
    return {"pairs": as_pairs, "lines": as_lines, "setoption": as_setoption}[form](tune, values)
