"""The parameters of a tune: how they are written, how their steps decrease, and what looks
unusual."""

import enum
import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from rookery.core.errors import Complaint


class SpsaFault(Complaint):
    """A tune that can't be set up; the text says what is wrong with its description."""

    exit_code = 2


# How the step sizes of a tune shrink with its iterations; one iteration is one pair of games.

DEFAULT_A_RATIO = 0.1
DEFAULT_ALPHA = 0.602
DEFAULT_GAMMA = 0.101
MOST_PAIRS = 10**9
LARGEST_EXPONENT = 10.0
LARGEST_A_RATIO = 1000.0


@dataclass(frozen=True, slots=True)
class Decay:
    """The divisors of the first `c` and the first `a` of every parameter at some iteration."""

    c: float
    a: float


@dataclass(frozen=True, slots=True)
class GainSchedule:
    """The length of a tune and the exponents with which `c` and `a` decay over it."""

    iterations: int
    stability: int
    alpha: float = DEFAULT_ALPHA
    gamma: float = DEFAULT_GAMMA

    def decay(self, iteration: int) -> Decay:
        """Return the decay after `iteration` pairs."""
        k = iteration + 1
        return Decay(math.pow(k, self.gamma), math.pow(self.stability + k, self.alpha))

    @property
    def last(self) -> int:
        """The iteration at which `c_end` and `r_end` are reached."""
        return self.iterations - 1


def schedule_for(
    games: int,
    *,
    a_ratio: float = DEFAULT_A_RATIO,
    alpha: float = DEFAULT_ALPHA,
    gamma: float = DEFAULT_GAMMA,
) -> GainSchedule:
    """Return the schedule of a tune over `games` games."""
    _check_within("num_games", games, 2, 2 * MOST_PAIRS)
    _check_within("A", a_ratio, 0, LARGEST_A_RATIO)
    _check_within("alpha", alpha, 0, LARGEST_EXPONENT)
    _check_within("gamma", gamma, 0, LARGEST_EXPONENT)
    return GainSchedule(games // 2, int(a_ratio * games / 2), alpha, gamma)


def _check_within(field: str, found: float, low: float, high: float) -> None:
    if not low <= found <= high:
        raise SpsaFault(f"{field} is {found:g}, but must lie within {low:g} and {high:g}")


LEAST_WHOLE_STEP = 0.5
"""The least `c` of a whole-number parameter; below it both sides would mostly play the same
value."""


class ParameterKind(enum.Enum):
    """The type of an option's values."""

    INT = "int"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class ParameterLine:
    """A parameter as its author wrote it."""

    name: str
    kind: ParameterKind
    start: float
    minimum: float
    maximum: float
    c_end: float
    r_end: float

    def clip(self, value: float) -> float:
        return min(max(value, self.minimum), self.maximum)

    def settle(self, value: float, draw: float) -> float:
        """Return the value that an engine gets: a float unchanged, an int rounded up or down by the
        draw."""
        if self.kind is ParameterKind.FLOAT:
            return self.clip(value)
        low, high = math.ceil(self.minimum), math.floor(self.maximum)
        return min(max(math.floor(self.clip(value) + draw), low), high)


@dataclass(frozen=True, slots=True)
class Steps:
    """How far an iteration perturbs a parameter (`c`) and how strongly a result moves it (`r`)."""

    c: float
    r: float


@dataclass(frozen=True, slots=True)
class Parameter:
    """A line with the first step sizes that the schedule gives it."""

    line: ParameterLine
    c: float
    a_end: float
    a: float

    def steps(self, decay: Decay, *, final: bool = False) -> Steps:
        """Return the steps under that decay; `final` keeps whole numbers at least half apart."""
        c = self.c / decay.c
        if final and self.line.kind is ParameterKind.INT:
            c = max(c, LEAST_WHOLE_STEP)
        return Steps(c, self.a / decay.a / c**2)


def parameter_for(line: ParameterLine, schedule: GainSchedule) -> Parameter:
    """Compute the steps of the first iteration from those of the last."""
    a_end = line.r_end * line.c_end**2
    return Parameter(
        line=line,
        c=line.c_end * math.pow(schedule.iterations, schedule.gamma),
        a_end=a_end,
        a=a_end * math.pow(schedule.stability + schedule.iterations, schedule.alpha),
    )


# Reads parameter lines: six fields as fishtest has them, seven with a type as OpenBench has them.
#
#     name,start,min,max,c_end,r_end
#     name,int|float,start,min,max,c_end,r_end
#
# Parameters with six fields are whole numbers, because the official worker rounds them. Both forms
# may be mixed in a text, and blank lines are ignored.

MOST_PARAMETERS = 10_000
LARGEST_NUMBER = 1e12
SMALLEST_C_END = 1e-9
LARGEST_R_END = 1e6
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
# An equals sign would end the name in `Name=Value`, a comma in these very lines.
_NAME = re.compile(r"[^\x00-\x1f\x7f,=]{1,100}")


def read_lines(text: str) -> tuple[ParameterLine, ...]:
    """All parameters of the text; raises the fault of the first bad line."""
    lines: dict[str, ParameterLine] = {}
    for number, fields in _rows(text):
        line = _read(number, fields)
        if line.name in lines:
            raise SpsaFault(f"line {number}: {line.name} is named twice")
        lines[line.name] = line
    if not lines:
        raise SpsaFault("there is no parameter line")
    if len(lines) > MOST_PARAMETERS:
        raise SpsaFault(
            f"there are {len(lines)} parameter lines, at most {MOST_PARAMETERS} are allowed"
        )
    return tuple(lines.values())


def _rows(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, row in enumerate(text.split("\n"), start=1):
        if row.strip():
            yield number, [field.strip() for field in row.split(",")]


def _read(number: int, fields: list[str]) -> ParameterLine:
    if len(fields) not in (6, 7):
        raise SpsaFault(
            f"line {number}: {len(fields)} fields; 6 are wanted (name,start,min,max,c_end,r_end)"
            " or 7 with int or float after the name"
        )
    name = fields[0]
    if not _NAME.fullmatch(name):
        raise SpsaFault(f"line {number}: {name[:100]!r} is not an option name")
    kind = _kind(number, name, fields[1]) if len(fields) == 7 else ParameterKind.INT
    start, low, high, c_end, r_end = (
        _number(number, name, field, found)
        for field, found in zip(("start", "min", "max", "c_end", "r_end"), fields[-5:], strict=True)
    )
    line = ParameterLine(name, kind, start, low, high, c_end, r_end)
    _check(number, line)
    return line


def _kind(number: int, name: str, found: str) -> ParameterKind:
    try:
        return ParameterKind(found.lower())
    except ValueError:
        raise SpsaFault(
            f"line {number}: the type of {name} is {found[:100]!r}, but must be int or float"
        ) from None


def _number(number: int, name: str, field: str, found: str) -> float:
    value = float(found) if _NUMBER.fullmatch(found) else math.inf
    if abs(value) > LARGEST_NUMBER:
        raise SpsaFault(
            f"line {number}: {field} of {name} is {found[:100]!r},"
            f" not a number within ±{LARGEST_NUMBER:g}"
        )
    return value


def _check(number: int, line: ParameterLine) -> None:
    _check_within(
        f"line {number}: c_end of {line.name}", line.c_end, SMALLEST_C_END, LARGEST_NUMBER
    )
    _check_within(f"line {number}: r_end of {line.name}", line.r_end, 0, LARGEST_R_END)
    low, high = line.minimum, line.maximum
    if low > high or (line.kind is ParameterKind.INT and math.ceil(low) > math.floor(high)):
        raise SpsaFault(f"line {number}: no value of {line.name} lies within {low:g} and {high:g}")


# Warnings before a tune starts, about what is legal but seldom intended.

USUAL_R_END = 0.002
FAR_FACTOR = 10.0


class Concern(enum.Enum):
    """The kinds of warnings about a parameter."""

    SMALL_STEP = "small_step"
    START_OUTSIDE = "start_outside"
    STEP_LEAVES_RANGE = "step_leaves_range"
    FIXED = "fixed"
    FRACTIONS = "fractions"
    UNKNOWN_OPTION = "unknown_option"
    UNUSUAL_RATE = "unusual_rate"


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning about one parameter, with the sentence to show."""

    name: str
    concern: Concern
    text: str


def remarks(
    parameters: Iterable[Parameter], options: Collection[str] | None = None
) -> tuple[Remark, ...]:
    """All warnings; `options` are the names that the engine offers, or None if unknown."""
    known = None if options is None else {name.casefold() for name in options}
    return tuple(
        Remark(parameter.line.name, concern, f"{parameter.line.name}: {text}")
        for parameter in parameters
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
