"""What a person should hear before a tune starts: legal, but seldom meant."""

import enum
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from rookery.core.spsa.parameter import LEAST_WHOLE_STEP, Kind, Line, Parameter
from rookery.core.spsa.tune import Tune

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
    if line.kind is Kind.INT:
        yield from _about_whole_numbers(line)
    if not USUAL_R_END / FAR_FACTOR <= line.r_end <= USUAL_R_END * FAR_FACTOR:
        yield Concern.UNUSUAL_RATE, f"r_end {line.r_end:g} is far from the usual {USUAL_R_END:g}"


def _about_range(line: Line, c: float) -> Iterator[tuple[Concern, str]]:
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


def _about_whole_numbers(line: Line) -> Iterator[tuple[Concern, str]]:
    if line.c_end < LEAST_WHOLE_STEP:
        often = "both sides will often play the same whole number"
        yield Concern.SMALL_STEP, f"c_end {line.c_end:g} is below {LEAST_WHOLE_STEP:g}: {often}"
    if any(not value.is_integer() for value in (line.start, line.minimum, line.maximum)):
        yield Concern.FRACTIONS, "start, min or max is not whole, but engines get whole numbers"
