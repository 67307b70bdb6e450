"""`rookery stats spsa`: checks parameter lines, shows their steps, writes values in other forms."""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeVar

from rookery.cli.arguments import BadArgument, add_schedule, text_of
from rookery.stats.spsa import Tune, as_lines, as_options, as_pairs, as_setoption, new_tune
from rookery.stats.spsa_parameters import remarks

Parser = TypeVar("Parser", bound=argparse.ArgumentParser)

FORMS = ("pairs", "options", "setoption", "lines")


@dataclass(frozen=True, slots=True)
class Row:
    """The steps of one parameter at one iteration, and how far a result of +1 moves it."""

    iteration: int
    name: str
    c: float
    r: float
    move: float


@dataclass(frozen=True, slots=True)
class Report:
    """All that the command has to say."""

    iterations: int
    stability: int
    schedule: tuple[Row, ...]
    warnings: tuple[str, ...]
    values: tuple[str, ...]


def add_spsa_parser(subparsers: "argparse._SubParsersAction[Parser]") -> None:
    """Hang the command under `rookery stats`."""
    parser = subparsers.add_parser(
        "spsa", help="check parameter lines and show the steps of a tune", description=__doc__
    )
    parser.add_argument("file", help="parameter lines of 6 or 7 fields; - reads standard input")
    parser.add_argument("--games", type=int, default=60_000, help="length of the tune")
    add_schedule(parser)
    parser.add_argument("--at", type=int, nargs="+", metavar="K", help="iterations to show")
    parser.add_argument("--known", nargs="+", metavar="NAME", help="options the engine offers")
    parser.add_argument("--set", nargs="+", default=[], metavar="NAME=VALUE", help="other values")
    parser.add_argument("--form", choices=FORMS, default="setoption", help="how values are written")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the report."""
    report = _report(args)
    print(json.dumps(asdict(report)) if args.json else "\n".join(_plain(report)))
    return 0


def _report(args: argparse.Namespace) -> Report:
    tune = new_tune(
        _text(args.file), args.games, a_ratio=args.a_ratio, alpha=args.alpha, gamma=args.gamma
    )
    last = tune.schedule.last
    shown = [0, last // 10, last // 2, last] if args.at is None else args.at
    return Report(
        iterations=tune.schedule.iterations,
        stability=tune.schedule.stability,
        schedule=tuple(_rows(tune, shown)),
        warnings=tuple(remark.text for remark in remarks(tune.parameters, args.known)),
        values=_written(tune, _values(tune, args.set), args.form),
    )


def _text(file: str) -> str:
    return sys.stdin.read() if file == "-" else text_of(Path(file))


def _rows(tune: Tune, iterations: Sequence[int]) -> Iterator[Row]:
    for iteration in sorted({max(iteration, 0) for iteration in iterations}):
        for parameter, step in zip(tune.parameters, tune.steps(iteration), strict=True):
            yield Row(iteration, parameter.line.name, step.c, step.r, step.r * step.c)


def _values(tune: Tune, settings: Sequence[str]) -> tuple[float, ...]:
    values = {parameter.line.name: parameter.line.start for parameter in tune.parameters}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in values:
            raise BadArgument(f"no parameter is named {name}")
        values[name] = _number(setting, text)
    return tuple(values.values())


def _number(setting: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadArgument(f"{setting} is not NAME=NUMBER")
    return value


def _written(tune: Tune, values: tuple[float, ...], form: str) -> tuple[str, ...]:
    if form == "options":
        return (as_options(tune, values),)
    return {"pairs": as_pairs, "lines": as_lines, "setoption": as_setoption}[form](tune, values)


def _plain(report: Report) -> Iterator[str]:
    yield f"{report.iterations} iterations (pairs), A = {report.stability}"
    width = max(len(row.name) for row in report.schedule) if report.schedule else 4
    yield f"{'iteration':>9}  {'name':<{width}}  {'c':>12}  {'R':>12}  {'move per win':>12}"
    for row in report.schedule:
        yield (
            f"{row.iteration:>9}  {row.name:<{width}}  {row.c:>12.6g}  {row.r:>12.6g}"
            f"  {row.move:>12.6g}"
        )
    yield from (f"warning: {text}" for text in report.warnings)
    yield from report.values
