"""Time controls: reads all written forms, prints one, and estimates the length of a game.

    [moves/]seconds[+increment]    40/60+0.6, 10+0.1, 1:30+1
    N=25000  nodes=25000           fixed nodes
    D=12     depth=12              fixed depth
    MT=100   st=0.1                fixed time per move, in milliseconds or in seconds

Lengths are estimates from typical engine games; a measured length replaces them as soon as there is
one (`GamePace` in `rules.observations`).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

MOVES_PER_GAME = 68
"""The moves of one side in a typical game."""
SHARE_OF_CLOCK = 1.84
"""The time that a typical game uses, in times of one side's total time."""
LONG_SECONDS = 40.0
"""The base time from which a test counts as long."""
UNKNOWN_DEPTH_SECONDS = 60.0
"""The assumed length of a game at fixed depth, which can't be estimated."""

_NUMBER = r"\d{1,9}(?:\.\d{1,6})?"
_CLOCK = re.compile(
    rf"(?:(?P<moves>[1-9]\d{{0,3}})/)?(?:(?P<minutes>\d{{1,6}}):)?(?P<seconds>{_NUMBER})"
    rf"(?:\+(?P<increment>{_NUMBER}))?",
    re.ASCII,
)
_FIXED = re.compile(rf"(?P<word>[a-z]+)=(?P<value>{_NUMBER})", re.ASCII)


class BadTimeControl(ValueError):
    """a time control looks like 10+0.1, 40/60+0.6, 1:30+1, N=25000, D=12, MT=100 or st=0.1"""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:40]!r}: {type(self).__doc__}")


@dataclass(frozen=True, slots=True)
class ClockControl:
    """Time for the whole game, or for a number of moves, with an increment per move."""

    seconds: float
    increment: float = 0.0
    moves: int | None = None

    def __str__(self) -> str:
        head = "" if self.moves is None else f"{self.moves}/"
        tail = f"+{_plain(self.increment)}" if self.increment else ""
        return f"{head}{_plain(self.seconds)}{tail}"

    def scaled(self, factor: float) -> "ClockControl":
        """Return the control for a machine that is `factor` times as slow, to three decimals."""
        return ClockControl(
            round(self.seconds * factor, 3), round(self.increment * factor, 3), self.moves
        )

    def game_seconds(self, nps: float) -> float:
        """Return the expected length of a game; a clock does not depend on the speed."""
        del nps
        time = self.seconds if self.moves is None else self.seconds * MOVES_PER_GAME / self.moves
        return SHARE_OF_CLOCK * (time + MOVES_PER_GAME * self.increment)

    def limit_seconds(self, nps: float) -> float:
        """Return the longest time that a game may take before something is wrong."""
        del nps
        limit = 3 * self.seconds + 200 * self.increment
        return limit if self.moves is None else limit * 100 / self.moves


@dataclass(frozen=True, slots=True)
class Nodes:
    """A fixed number of nodes per move."""

    nodes: int

    def __str__(self) -> str:
        return f"N={self.nodes}"

    def scaled(self, factor: float) -> "Nodes":
        del factor
        return self

    def game_seconds(self, nps: float) -> float:
        return 2 * MOVES_PER_GAME * self.nodes / max(nps, 1.0)

    def limit_seconds(self, nps: float) -> float:
        return 60 + 10 * self.game_seconds(nps)


@dataclass(frozen=True, slots=True)
class Depth:
    """A fixed search depth per move."""

    depth: int

    def __str__(self) -> str:
        return f"D={self.depth}"

    def scaled(self, factor: float) -> "Depth":
        del factor
        return self

    def game_seconds(self, nps: float) -> float:
        del nps
        return UNKNOWN_DEPTH_SECONDS

    def limit_seconds(self, nps: float) -> float:
        return 60 + 10 * self.game_seconds(nps)


@dataclass(frozen=True, slots=True)
class MoveTime:
    """A fixed time per move."""

    seconds: float

    def __str__(self) -> str:
        return f"MT={_plain(self.seconds * 1000)}"

    def scaled(self, factor: float) -> "MoveTime":
        return MoveTime(round(self.seconds * factor, 6))

    def game_seconds(self, nps: float) -> float:
        del nps
        return 2 * MOVES_PER_GAME * self.seconds

    def limit_seconds(self, nps: float) -> float:
        return 60 + 10 * self.game_seconds(nps)


TimeControl = ClockControl | Nodes | Depth | MoveTime


@lru_cache(maxsize=4096)
def parse(text: str) -> TimeControl:
    """Read any of the written forms; raise BadTimeControl. Cached, because runs store the text and
    it is parsed often."""
    text = text.strip()
    if found := _CLOCK.fullmatch(text):
        return _clock(text, found)
    if found := _FIXED.fullmatch(text.lower()):
        return _fixed(text, found.group("word"), float(found.group("value")))
    raise BadTimeControl(text)


def is_classic(tc: TimeControl) -> bool:
    """Whether official workers understand it: they only know clocks."""
    return isinstance(tc, ClockControl)


def is_timed(tc: TimeControl) -> bool:
    """Whether it limits time, so that games depend on how steadily the machine runs."""
    return isinstance(tc, ClockControl | MoveTime)


def base_seconds(tc: TimeControl) -> float:
    """Return the base time of a control, by which long tests are distinguished from short ones."""
    return tc.seconds if isinstance(tc, ClockControl | MoveTime) else 0.0


def _clock(text: str, found: re.Match[str]) -> ClockControl:
    moves = None if found.group("moves") is None else int(found.group("moves"))
    seconds = round(60 * int(found.group("minutes") or 0) + float(found.group("seconds")), 6)
    increment = float(found.group("increment") or 0)
    if not seconds + increment > 0:
        raise BadTimeControl(text)
    return ClockControl(seconds, increment, moves)


def _fixed(text: str, word: str, value: float) -> TimeControl:
    whole = value >= 1 and value.is_integer()
    if word in ("n", "nodes") and whole:
        return Nodes(int(value))
    if word in ("d", "depth") and whole:
        return Depth(int(value))
    if word in ("mt", "movetime") and value > 0:
        return MoveTime(value / 1000)
    if word == "st" and value > 0:
        return MoveTime(value)
    raise BadTimeControl(text)


def _plain(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
