"""An SPSA tune: its schedule, its parameters, their present values and their history.

    set_up -> Tune -> perturb(draw) -> games -> fold(result) -> Tune -> ...

Values are frozen and random numbers are passed in, so that the same draws and results always give
the same tune.
"""

import enum
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from msgspec import Struct, field

from rookery.core.stats.spsa_parameters import (
    DEFAULT_A_RATIO,
    DEFAULT_ALPHA,
    DEFAULT_GAMMA,
    GainSchedule,
    Parameter,
    ParameterKind,
    ParameterLine,
    SpsaFault,
    Steps,
    parameter_for,
    read_lines,
    schedule_for,
)

# The directions of a perturbation: +1 or -1 per parameter, packed to bits and signed.
#
# The most significant bit of the first byte is the first parameter; 1 stands for +1; the last byte
# is filled up with zeros. The signature is the unsigned CRC-32 of the packed bytes.


def packed_size(count: int) -> int:
    """Return the number of bytes for the flips of `count` parameters."""
    return (count + 7) // 8


def pack(flips: Sequence[int]) -> bytes:
    """Pack flips into bits."""
    bits = 0
    for flip in flips:
        bits = bits << 1 | (flip > 0)
    size = packed_size(len(flips))
    return (bits << (8 * size - len(flips))).to_bytes(size, "big")


def unpack(packed: bytes, count: int) -> tuple[int, ...]:
    """Unpack the flips of `count` parameters; random bytes give random flips."""
    if len(packed) != packed_size(count):
        raise _wrong_draw(len(packed), packed_size(count))
    bits = int.from_bytes(packed, "big") >> (8 * len(packed) - count)
    return tuple(1 if bits >> place & 1 else -1 for place in range(count - 1, -1, -1))


def _wrong_draw(found: int, wanted: int) -> SpsaFault:
    return SpsaFault(f"the draw holds {found} values, {wanted} are wanted")


def signature(packed: bytes) -> int:
    """Return the signature of flips, which a worker returns to show which ones its games were
    played with."""
    return zlib.crc32(packed)


def joint_signature(parts: Iterable[bytes]) -> int:
    """Return the signature of several perturbations handed out together."""
    return zlib.crc32(b"".join(parts))


class ParameterSample(Struct, frozen=True, gc=False):
    """The value and steps of one parameter at one point of the history."""

    theta: float
    r: float = field(name="R")
    c: float


@dataclass(frozen=True, slots=True)
class Tune:
    """A tune with all its state; `thetas` are the present values, in the order of `parameters`."""

    schedule: GainSchedule
    parameters: tuple[Parameter, ...]
    thetas: tuple[float, ...]
    iteration: int = 0
    history: tuple[tuple[ParameterSample, ...], ...] = ()

    @property
    def needs_floats(self) -> bool:
        """Whether the tune needs fractional values, so that official workers, which round every
        value, can't play it."""
        return any(parameter.line.kind is ParameterKind.FLOAT for parameter in self.parameters)

    def steps(self, iteration: int, *, final: bool = False) -> tuple[Steps, ...]:
        """Return the steps of all parameters at an iteration."""
        decay = self.schedule.decay(iteration)
        return tuple(parameter.steps(decay, final=final) for parameter in self.parameters)


def new_tune(
    text: str,
    games: int,
    *,
    a_ratio: float = DEFAULT_A_RATIO,
    alpha: float = DEFAULT_ALPHA,
    gamma: float = DEFAULT_GAMMA,
) -> Tune:
    """Return a new tune from parameter lines, for `games` games; raise SpsaFault."""
    schedule = schedule_for(games, a_ratio=a_ratio, alpha=alpha, gamma=gamma)
    parameters = tuple(parameter_for(line, schedule) for line in read_lines(text))
    return Tune(schedule, parameters, tuple(each.line.start for each in parameters))


# Draws the two sets of values that play against each other, and what must be remembered of them.
#
# An official worker gets unrounded values and rounds them itself, each side with a separate random
# number. Our worker gets final values, one perturbation per slot: both sides of an int are rounded
# with the same random number, so that rounding adds no noise between them, and `c` is at least one
# half.


@dataclass(frozen=True, slots=True)
class Issued:
    """What is stored until the games are reported: the flips, and the iteration that they belong
    to."""

    iteration: int
    packed_flips: bytes
    final: bool = False

    @property
    def signature(self) -> int:
        return signature(self.packed_flips)


@dataclass(frozen=True, slots=True)
class Perturbation:
    """The values for the new and the base engine, in the order of the tune's parameters."""

    issued: Issued
    new: tuple[float, ...]
    base: tuple[float, ...]
    steps: tuple[Steps, ...]
    flips: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PerturbationDraw:
    """The random numbers of one perturbation: bytes for the flips, and a number in [0, 1) per
    parameter."""

    flips: bytes
    rounding: tuple[float, ...]


def perturb(tune: Tune, draw: bytes) -> Perturbation:
    """Unrounded values for an official worker."""
    flips = unpack(draw, len(tune.parameters))
    issued = Issued(tune.iteration, pack(flips))
    steps = tune.steps(tune.iteration)
    new, base = _moved(tune, steps, flips, 1), _moved(tune, steps, flips, -1)
    return Perturbation(issued, _clipped(tune, new), _clipped(tune, base), steps, flips)


def perturb_final(tune: Tune, draws: Iterable[PerturbationDraw]) -> tuple[Perturbation, ...]:
    """Return final values, one perturbation per draw, for a worker of ours."""
    steps = tune.steps(tune.iteration, final=True)
    return tuple(_final(tune, steps, draw) for draw in draws)


def _final(tune: Tune, steps: tuple[Steps, ...], draw: PerturbationDraw) -> Perturbation:
    if len(draw.rounding) != len(tune.parameters):
        raise _wrong_draw(len(draw.rounding), len(tune.parameters))
    flips = unpack(draw.flips, len(tune.parameters))
    issued = Issued(tune.iteration, pack(flips), final=True)
    new, base = _moved(tune, steps, flips, 1), _moved(tune, steps, flips, -1)
    return Perturbation(
        issued, settled(tune, new, draw.rounding), settled(tune, base, draw.rounding), steps, flips
    )


def settled(tune: Tune, values: Iterable[float], rounding: Sequence[float]) -> tuple[float, ...]:
    """Values as engines accept them: within their limits, and whole where they must be."""
    return tuple(
        parameter.line.settle(value, draw)
        for parameter, value, draw in zip(tune.parameters, values, rounding, strict=True)
    )


def _moved(
    tune: Tune, steps: tuple[Steps, ...], flips: tuple[int, ...], direction: int
) -> Iterable[float]:
    return (
        theta + direction * step.c * flip
        for theta, step, flip in zip(tune.thetas, steps, flips, strict=True)
    )


def _clipped(tune: Tune, values: Iterable[float]) -> tuple[float, ...]:
    return tuple(
        parameter.line.clip(value) for parameter, value in zip(tune.parameters, values, strict=True)
    )


# Moves the parameters by the result of a batch, and keeps a thinned history of their values.
#
# The steps are those of the iteration at which the batch was issued; the values that are moved are
# the present ones, which other machines may have changed since.

MOST_SAMPLES = 100
"""The length of a history with few parameters; with many it is shorter, to limit the total size."""
MOST_SAMPLE_VALUES = 10_000
MANY_PARAMETERS = 1000


@dataclass(frozen=True, slots=True)
class TuneBatch:
    """The games of one perturbation, from the new engine's point of view, with the returned
    signature."""

    games: int
    wins: int
    losses: int
    signature: int


def fold(tune: Tune, issued: Issued | None, batch: TuneBatch) -> Tune:
    """Return the tune after a batch; unchanged if nothing was issued or the signature differs."""
    if issued is None or issued.signature != batch.signature:
        return tune
    steps = tune.steps(issued.iteration, final=issued.final)
    flips = unpack(issued.packed_flips, len(tune.parameters))
    moved = replace(
        tune,
        thetas=_moved_by_result(tune, steps, flips, batch.wins - batch.losses),
        iteration=tune.iteration + batch.games // 2,
    )
    return _remembered(moved, steps)


def fold_all(tune: Tune, pairs: Iterable[tuple[Issued, TuneBatch]]) -> Tune:
    """Return the tune after several perturbations that were issued together, in order."""
    for issued, batch in pairs:
        tune = fold(tune, issued, batch)
    return tune


def _moved_by_result(
    tune: Tune, steps: tuple[Steps, ...], flips: tuple[int, ...], result: int
) -> tuple[float, ...]:
    return tuple(
        parameter.line.clip(theta + step.r * step.c * result * flip)
        for parameter, theta, step, flip in zip(
            tune.parameters, tune.thetas, steps, flips, strict=True
        )
    )


def _remembered(tune: Tune, steps: tuple[Steps, ...]) -> Tune:
    if len(tune.history) + 1 > tune.iteration / sampling_period(tune):
        return tune
    sample = tuple(
        ParameterSample(theta, step.r, step.c)
        for theta, step in zip(tune.thetas, steps, strict=True)
    )
    return replace(tune, history=(*tune.history, sample))


def sampling_period(tune: Tune) -> float:
    """Return the number of iterations between two samples of the history."""
    return tune.schedule.iterations / _samples(len(tune.parameters))


def _samples(parameters: int) -> float:
    if parameters < MOST_SAMPLES:
        return MOST_SAMPLES
    return MOST_SAMPLE_VALUES / parameters if parameters < MANY_PARAMETERS else 1


# The results of a tune for people: its values in the formats that other programs need.

LATE_SHARE = 5
"""The mean is taken over the last fifth of the history."""


class LineStyle(enum.Enum):
    """How parameter lines are written."""

    SIX_FIELDS = 6
    SEVEN_FIELDS = 7


def late_mean(tune: Tune) -> tuple[float, ...]:
    """Return the mean of the last fifth of the history, steadier than the last values."""
    count = math.ceil(len(tune.history) / LATE_SHARE)
    if not count:
        return tune.thetas
    rows = tune.history[-count:]
    return tuple(
        math.fsum(sample.theta for sample in column) / count for column in zip(*rows, strict=True)
    )


def engine_values(tune: Tune, values: Sequence[float]) -> tuple[float, ...]:
    """Values as an engine would get them, with whole numbers rounded to the nearest."""
    return settled(tune, values, [0.5] * len(tune.parameters))


def as_pairs(tune: Tune, values: Sequence[float]) -> tuple[str, ...]:
    """Lines with `Name Value`."""
    return tuple(f"{name} {value}" for name, value in _named(tune, values))


def as_options(tune: Tune, values: Sequence[float]) -> str:
    """`Name=Value` separated by spaces, as in an official worker's options of a test."""
    for parameter in tune.parameters:
        if " " in parameter.line.name:
            raise SpsaFault(
                f"{parameter.line.name!r} holds a space and cannot be written as Name=Value"
            )
    return " ".join(f"{name}={value}" for name, value in _named(tune, values))


def as_mapping(tune: Tune, values: Sequence[float]) -> dict[str, str]:
    """Values by name, for a test of our own workers, whose option names may contain spaces."""
    return dict(_named(tune, values))


def as_setoption(tune: Tune, values: Sequence[float]) -> tuple[str, ...]:
    """Lines with UCI commands that set the values."""
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
