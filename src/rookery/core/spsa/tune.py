"""A tune: its schedule, its parameters, where they stand and how they got there.

    set_up -> Tune -> perturb(draw) -> games -> fold(result) -> Tune -> ...

Values are frozen and chance comes in as a draw, so that the same draws and results always give
the same tune.
"""

from dataclasses import dataclass

from rookery.core.spsa.lines import read_lines
from rookery.core.spsa.parameter import Kind, Parameter, Steps, parameter_for
from rookery.core.spsa.schedule import (
    DEFAULT_A_RATIO,
    DEFAULT_ALPHA,
    DEFAULT_GAMMA,
    Schedule,
    schedule_for,
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One parameter at one moment of the history."""

    theta: float
    r: float
    c: float


@dataclass(frozen=True, slots=True)
class Tune:
    """Everything a tune is; `thetas` are the present values, in the order of `parameters`."""

    schedule: Schedule
    parameters: tuple[Parameter, ...]
    thetas: tuple[float, ...]
    iteration: int = 0
    history: tuple[tuple[Sample, ...], ...] = ()

    @property
    def needs_floats(self) -> bool:
        """Whether official workers, which round every value, can't play it."""
        return any(parameter.line.kind is Kind.FLOAT for parameter in self.parameters)

    def steps(self, iteration: int, *, final: bool = False) -> tuple[Steps, ...]:
        """The steps of all parameters at an iteration."""
        decay = self.schedule.decay(iteration)
        return tuple(parameter.steps(decay, final=final) for parameter in self.parameters)


def set_up(
    text: str,
    games: int,
    *,
    a_ratio: float = DEFAULT_A_RATIO,
    alpha: float = DEFAULT_ALPHA,
    gamma: float = DEFAULT_GAMMA,
) -> Tune:
    """A fresh tune from parameter lines, for that many games; raises SpsaFault."""
    schedule = schedule_for(games, a_ratio=a_ratio, alpha=alpha, gamma=gamma)
    parameters = tuple(parameter_for(line, schedule) for line in read_lines(text))
    return Tune(schedule, parameters, tuple(each.line.start for each in parameters))
