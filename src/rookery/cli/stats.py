"""`rookery stats`: Elo, SPRT, live Elo, power and outlook of results given on the command line."""

import argparse
import json
from collections.abc import Callable
from math import isfinite
from typing import NoReturn, TypeAlias

from rookery.cli.stats_answers import (
    Answer,
    Sample,
    answer_chances,
    answer_elo,
    answer_lengths,
    answer_live,
    answer_power,
    answer_sprt,
)
from rookery.cli.stats_spsa import add_spsa_parser
from rookery.errors import Complaint
from rookery.stats.elo import FixedTest
from rookery.stats.numbers import StatisticsFault
from rookery.stats.outlook import Belief, usual_prior
from rookery.stats.sprt import EloModel, Sprt
from rookery.stats.walk import TYPICAL_SIGMA, pace_of

# argparse has no public name for what its add_subparsers gives.
Questions: TypeAlias = "argparse._SubParsersAction[QuestionParser]"  # noqa: SLF001

MOST_RESULTS = 2**40
LEAST, MOST = 1e-9, 1e12
MODELS = {model.value.lower(): model for model in EloModel} | {"normalised": EloModel.NORMALISED}


class UnusableQuestion(Complaint):
    """What was asked makes no sense; the text says why."""

    exit_code = 2


class QuestionParser(argparse.ArgumentParser):
    """Complains in one sentence instead of printing its usage first."""

    def error(self, message: str) -> NoReturn:
        raise UnusableQuestion(f"{message}; `{self.prog} --help` explains.")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    questions = parser.add_subparsers(
        title="questions", metavar="QUESTION", required=True, parser_class=QuestionParser
    )
    for add in (_add_elo, _add_sprt, _add_live, _add_power, _add_outlook, add_spsa_parser):
        add(questions)


def _add_elo(questions: Questions) -> None:
    parser = _question(questions, "elo", "Elo, interval and superiority", _ask_elo)
    _take_results(parser)


def _add_sprt(questions: Questions) -> None:
    parser = _question(questions, "sprt", "likelihood ratio and state of an SPRT", _ask_sprt)
    _take_results(parser)
    _take_bounds(parser)
    parser.add_argument(
        "--would-have",
        nargs=2,
        type=_number,
        action="append",
        default=[],
        metavar=("ELO0", "ELO1"),
        help="what other bounds would have said (never a verdict); may be repeated",
    )


def _add_live(questions: Questions) -> None:
    parser = _question(questions, "live", "unbiased Elo of a running or ended SPRT", _ask_live)
    _take_results(parser)
    _take_bounds(parser)


def _add_power(questions: Questions) -> None:
    parser = _question(questions, "power", "what a fixed number of games can show", _ask_power)
    _take_results(parser, "a sample that shows how much results spread")
    parser.add_argument("--games", type=_positive, metavar="N", help="games to be played")
    parser.add_argument("--elo", type=_number, help="true logistic Elo of the new version")
    parser.add_argument("--power", type=_positive, help="wanted chance to see that it is better")
    parser.add_argument("--alpha", type=_positive, default=0.05, help="false alarms (0.05)")


def _add_outlook(questions: Questions) -> None:
    purpose = "length of an SPRT before it starts, or its chances now"
    parser = _question(questions, "outlook", purpose, _ask_outlook)
    _take_results(parser, "the results so far")
    _take_bounds(parser)
    parser.add_argument(
        "--true-elo", nargs="+", type=_number, help="lengths for these, on the scale of the bounds"
    )
    parser.add_argument(
        "--prior", nargs=2, type=_number, metavar=("MEAN", "SIGMA"), help="of the true Elo"
    )
    parser.add_argument("--max-games", type=_positive, metavar="N", help="the test ends by then")
    parser.add_argument("--games-per-minute", type=_positive, metavar="N", help="tell times too")


def _question(
    questions: Questions, name: str, purpose: str, ask: Callable[[argparse.Namespace], Answer]
) -> argparse.ArgumentParser:
    parser = questions.add_parser(name, help=purpose, description=f"Tells the {purpose}.")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=lambda parsed: _run(ask, parsed))
    return parser


def _take_results(parser: argparse.ArgumentParser, purpose: str = "the results") -> None:
    parser.add_argument(
        "--pentanomial",
        nargs=5,
        type=_count,
        metavar=("LL", "LD", "EVEN", "WD", "WW"),
        help=f"{purpose}: pairs by outcome",
    )
    parser.add_argument(
        "--wdl", nargs=3, type=_count, metavar=("W", "D", "L"), help=f"{purpose}: single games"
    )


def _take_bounds(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--elo0", type=_number, required=True, help="the Elo to reject")
    parser.add_argument("--elo1", type=_number, required=True, help="the Elo to accept")
    parser.add_argument(
        "--model", type=_model, default=EloModel.NORMALISED, help="normalized, logistic, BayesElo"
    )
    parser.add_argument("--alpha", type=_number, default=0.05, help="wrong passes (0.05)")
    parser.add_argument("--beta", type=_number, default=0.05, help="wrong fails (0.05)")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= MOST_RESULTS):
        raise argparse.ArgumentTypeError(f"{text!r} is not a count of results")
    return int(text)


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return number


def _positive(text: str) -> float:
    number = _number(text)
    if not LEAST <= number <= MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is not between {LEAST:g} and {MOST:g}")
    return number


def _model(text: str) -> EloModel:
    if text.lower() not in MODELS:
        raise argparse.ArgumentTypeError(f"{text!r} is none of normalized, logistic, BayesElo")
    return MODELS[text.lower()]


def _run(ask: Callable[[argparse.Namespace], Answer], parsed: argparse.Namespace) -> int:
    try:
        answer = ask(parsed)
    except StatisticsFault as fault:
        raise UnusableQuestion(str(fault)) from fault
    print(json.dumps(answer.data, allow_nan=False) if parsed.json else answer.text())
    return 0


def _ask_elo(parsed: argparse.Namespace) -> Answer:
    return answer_elo(_results(parsed))


def _ask_sprt(parsed: argparse.Namespace) -> Answer:
    others = [_spec(parsed, *bounds) for bounds in parsed.would_have]
    return answer_sprt(_results(parsed), _spec(parsed), others)


def _ask_live(parsed: argparse.Namespace) -> Answer:
    return answer_live(_results(parsed), _spec(parsed))


def _ask_power(parsed: argparse.Namespace) -> Answer:
    if parsed.games is None and (parsed.elo is None or parsed.power is None):
        raise UnusableQuestion("Give --games, or --elo and --power.")
    if parsed.games is not None and parsed.elo is not None and parsed.power is not None:
        raise UnusableQuestion("Of --games, --elo and --power give at most two.")
    test = FixedTest(_sigma(parsed), parsed.alpha)
    return answer_power(test, games=parsed.games, elo=parsed.elo, power=parsed.power)


def _ask_outlook(parsed: argparse.Namespace) -> Answer:
    spec, sample = _spec(parsed), _sample(parsed)
    pace = pace_of(spec, _sigma(parsed))
    if parsed.true_elo or sample is None:
        return answer_lengths(pace, parsed.true_elo or [], parsed.max_games)
    prior = Belief(*parsed.prior) if parsed.prior else usual_prior(spec)
    return answer_chances(
        sample,
        pace,
        prior,
        max_games=parsed.max_games,
        games_per_minute=parsed.games_per_minute,
    )


def _sample(parsed: argparse.Namespace) -> Sample | None:
    if parsed.pentanomial is None and parsed.wdl is None:
        return None
    # On the command line wins come first, in bins they come last.
    return Sample(parsed.pentanomial, parsed.wdl and parsed.wdl[::-1])


def _results(parsed: argparse.Namespace) -> Sample:
    sample = _sample(parsed)
    if sample is None:
        raise UnusableQuestion("Give the results by --pentanomial or --wdl.")
    return sample


def _sigma(parsed: argparse.Namespace) -> float:
    sample = _sample(parsed)
    return sample.sigma_per_game if sample else TYPICAL_SIGMA


def _spec(parsed: argparse.Namespace, elo0: float | None = None, elo1: float | None = None) -> Sprt:
    return Sprt(
        parsed.elo0 if elo0 is None else elo0,
        parsed.elo1 if elo1 is None else elo1,
        parsed.model,
        parsed.alpha,
        parsed.beta,
    )
