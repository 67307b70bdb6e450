"""What people take away from a tune: its values in the forms that other places want."""

import enum
import math
from collections.abc import Sequence
from decimal import Decimal

from rookery.core.spsa.faults import SpacedName
from rookery.core.spsa.parameter import Line
from rookery.core.spsa.perturbation import settled
from rookery.core.spsa.tune import Tune

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


def _written(line: Line, value: float, style: LineStyle) -> str:
    numbers = (value, line.minimum, line.maximum, line.c_end, line.r_end)
    kind = [line.kind.value] if style is LineStyle.SEVEN_FIELDS else []
    return ",".join([line.name, *kind, *map(_number, numbers)])


def _number(value: float) -> str:
    # Engines read no exponents, and the last two digits of a sum of steps are noise.
    return format(Decimal(format(value + 0.0, ".15g")), "f")
