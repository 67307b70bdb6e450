"""What a person should hear before a tune starts: legal, but seldom meant."""

import enum
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from rookery.stats.spsa import Tune, settled
from rookery.stats.spsa_parameters import (
    LEAST_WHOLE_STEP,
    Parameter,
    ParameterKind,
    ParameterLine,
    SpacedName,
)

USUAL_R_END = 0.002
FAR_FACTOR = 10.0


class Concern(enum.Enum):
    """Why a parameter looks odd."""

    SMALL_STEP = "small_step"
    START_OUTSIDE = "start_outside"
    STEP_LEAVES_RANGE = "step_leaves_range"
    FIXED = "fixed"
    FRACTIONS = "fractions"
    UNKNOWN_OPTION = "unknown_option"
    UNUSUAL_RATE = "unusual_rate"


@dataclass(frozen=True, slots=True)
class Remark:
    """A concern about one parameter, with the sentence to show."""

    name: str
    concern: Concern
    text: str


def remarks(tune: Tune, options: Collection[str] | None = None) -> tuple[Remark, ...]:
    """All concerns; `options` are the names the engine offers, None where nobody knows them."""
    known = None if options is None else {name.casefold() for name in options}
    return tuple(
        Remark(parameter.line.name, concern, f"{parameter.line.name}: {text}")
        for parameter in tune.parameters
        for concern, text in _concerns(parameter, known)
    )


def _concerns(parameter: Parameter, known: set[str] | None) -> Iterator[tuple[Concern, str]]:
    line = parameter.line
    if known is not None and line.name.casefold() not in known:
        yield Concern.UNKNOWN_OPTION, "the engine has no such option"
    yield from _about_range(line, parameter.c)
    if line.kind is ParameterKind.INT:
        yield from _about_whole_numbers(line)
    if not USUAL_R_END / FAR_FACTOR <= line.r_end <= USUAL_R_END * FAR_FACTOR:
        yield Concern.UNUSUAL_RATE, f"r_end {line.r_end:g} is far from the usual {USUAL_R_END:g}"


def _about_range(line: ParameterLine, c: float) -> Iterator[tuple[Concern, str]]:
    span = f"{line.minimum:g} to {line.maximum:g}"
    if line.minimum == line.maximum:
        yield Concern.FIXED, f"the range {span} holds one value only"
    elif line.clip(line.start) != line.start:
        yield Concern.START_OUTSIDE, f"start {line.start:g} lies outside {span}"
    elif line.start - c < line.minimum or line.start + c > line.maximum:
        yield (
            Concern.STEP_LEAVES_RANGE,
            f"the first step {line.start:g} ± {c:.4g} leaves {span} and will be cut short",
        )


def _about_whole_numbers(line: ParameterLine) -> Iterator[tuple[Concern, str]]:
    if line.c_end < LEAST_WHOLE_STEP:
        often = "both sides will often play the same whole number"
        yield Concern.SMALL_STEP, f"c_end {line.c_end:g} is below {LEAST_WHOLE_STEP:g}: {often}"
    if any(not value.is_integer() for value in (line.start, line.minimum, line.maximum)):
        yield Concern.FRACTIONS, "start, min or max is not whole, but engines get whole numbers"


# What people take away from a tune: its values in the forms that other places want.

LATE_SHARE = 5
"""The mean is taken over the last fifth of the history."""


class LineStyle(enum.Enum):
    """How parameter lines are written."""

    SIX_FIELDS = 6
    SEVEN_FIELDS = 7


def late_mean(tune: Tune) -> tuple[float, ...]:
    """The mean of the last fifth of the history, steadier than the last values."""
    count = math.ceil(len(tune.history) / LATE_SHARE)
    if not count:
        return tune.thetas
    rows = tune.history[-count:]
    return tuple(
        math.fsum(sample.theta for sample in column) / count for column in zip(*rows, strict=True)
    )


def engine_values(tune: Tune, values: Sequence[float]) -> tuple[float, ...]:
    """Values as an engine would be given them: whole numbers to the nearest."""
    return settled(tune, values, [0.5] * len(tune.parameters))


def as_pairs(tune: Tune, values: Sequence[float]) -> tuple[str, ...]:
    """`Name Value`, a line each."""
    return tuple(f"{name} {value}" for name, value in _named(tune, values))


def as_options(tune: Tune, values: Sequence[float]) -> str:
    """`Name=Value` with spaces between, as an official worker takes a test's options."""
    for parameter in tune.parameters:
        if " " in parameter.line.name:
            raise SpacedName(name=parameter.line.name)
    return " ".join(f"{name}={value}" for name, value in _named(tune, values))


def as_mapping(tune: Tune, values: Sequence[float]) -> dict[str, str]:
    """Values by name, for a test of ours, whose option names may hold spaces."""
    return dict(_named(tune, values))


def as_setoption(tune: Tune, values: Sequence[float]) -> tuple[str, ...]:
    """Commands for an engine's input, a line each."""
    return tuple(f"setoption name {name} value {value}" for name, value in _named(tune, values))


def as_lines(
    tune: Tune, values: Sequence[float], style: LineStyle | None = None
) -> tuple[str, ...]:
    """Input for the next tune, starting from these values (fractions kept)."""
    style = style or (LineStyle.SEVEN_FIELDS if tune.needs_floats else LineStyle.SIX_FIELDS)
    return tuple(
        _written(parameter.line, value, style)
        for parameter, value in zip(tune.parameters, values, strict=True)
    )


def _named(tune: Tune, values: Sequence[float]) -> list[tuple[str, str]]:
    finals = engine_values(tune, values)
    return [
        (parameter.line.name, _number(value))
        for parameter, value in zip(tune.parameters, finals, strict=True)
    ]


def _written(line: ParameterLine, value: float, style: LineStyle) -> str:
    numbers = (value, line.minimum, line.maximum, line.c_end, line.r_end)
    kind = [line.kind.value] if style is LineStyle.SEVEN_FIELDS else []
    return ",".join([line.name, *kind, *map(_number, numbers)])


def _number(value: float) -> str:
    # Engines read no exponents, and the last two digits of a sum of steps are noise.
    return format(Decimal(format(value + 0.0, ".15g")), "f")
