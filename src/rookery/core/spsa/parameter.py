"""One tuned option: its range, its step sizes at the end of the tune, and those they start from."""

import enum
import math
from dataclasses import dataclass

from rookery.core.spsa.schedule import Decay, Schedule

LEAST_WHOLE_STEP = 0.5
"""Below it both sides of a whole-number parameter would mostly play the same value."""


class Kind(enum.Enum):
    """What values an option takes."""

    INT = "int"
    FLOAT = "float"


@dataclass(frozen=True, slots=True)
class Line:
    """A parameter as its author wrote it."""

    name: str
    kind: Kind
    start: float
    minimum: float
    maximum: float
    c_end: float
    r_end: float

    def clip(self, value: float) -> float:
        return min(max(value, self.minimum), self.maximum)

    def settle(self, value: float, draw: float) -> float:
        """The value an engine is given: a float as it is, an int rounded up or down by the draw."""
        if self.kind is Kind.FLOAT:
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

    line: Line
    c: float
    a_end: float
    a: float

    def steps(self, decay: Decay, *, final: bool = False) -> Steps:
        """The steps under that decay; `final` keeps whole numbers at least half apart."""
        c = self.c / decay.c
        if final and self.line.kind is Kind.INT:
            c = max(c, LEAST_WHOLE_STEP)
        return Steps(c, self.a / decay.a / c**2)


def parameter_for(line: Line, schedule: Schedule) -> Parameter:
    """Work back from the last iteration's steps to those of the first."""
    a_end = line.r_end * line.c_end**2
    return Parameter(
        line=line,
        c=line.c_end * math.pow(schedule.iterations, schedule.gamma),
        a_end=a_end,
        a=a_end * math.pow(schedule.stability + schedule.iterations, schedule.alpha),
    )
