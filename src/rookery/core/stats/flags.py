"""The colour a finished test is remembered by."""

import enum

from rookery.core.stats.sprt import Sprt, Verdict

# A fixed-games test counts as decided when its likelihood of superiority leaves this corridor.
SURE = 0.95
HOPELESS = 0.05


class Flag(enum.Enum):
    """Green: it gained. Yellow: it failed although it won more than it lost."""

    NONE = "none"
    GREEN = "green"
    YELLOW = "yellow"


class Style(enum.Enum):
    """How lists colour a test; blue is a passed simplification, which may not lose Elo."""

    PLAIN = ""
    GREEN = "green"
    BLUE = "blue"
    YELLOW = "yellow"
    RED = "red"


def fixed_verdict(los: float) -> Verdict:
    if los > SURE:
        return Verdict.ACCEPTED
    return Verdict.REJECTED if los < HOPELESS else Verdict.RUNNING


def flag(verdict: Verdict, *, wins: int, losses: int) -> Flag:
    if verdict is Verdict.ACCEPTED:
        return Flag.GREEN
    if verdict is Verdict.REJECTED and wins > losses:
        return Flag.YELLOW
    return Flag.NONE


def style(verdict: Verdict, *, wins: int, losses: int, spec: Sprt | None = None) -> Style:
    if verdict is Verdict.RUNNING:
        return Style.PLAIN
    if verdict is Verdict.REJECTED:
        return Style.YELLOW if wins > losses else Style.RED
    simplification = spec is not None and spec.elo0 + spec.elo1 < 0.0
    return Style.BLUE if simplification else Style.GREEN
