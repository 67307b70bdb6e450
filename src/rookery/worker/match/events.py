"""What a match tells whoever watches it, in the order in which it happens."""

from dataclasses import dataclass

from rookery.worker.match.job import PairResult
from rookery.worker.match.latency import Latency
from rookery.worker.match.record import GameResult


@dataclass(frozen=True, slots=True)
class GameStarted:
    """Game 0 or 1 of a pair begins."""

    pair: int
    game: int
    white: str
    black: str


@dataclass(frozen=True, slots=True)
class GameEnded:
    """Game 0 or 1 of a pair is over."""

    pair: int
    game: int
    result: GameResult


@dataclass(frozen=True, slots=True)
class PairEnded:
    """Both games of a pair are over."""

    pair: PairResult


@dataclass(frozen=True, slots=True)
class LatencyMeasured:
    """How late the runner has been so far, all of its processes together."""

    latency: Latency
    last: bool = False  # nothing comes after it


Event = GameStarted | GameEnded | PairEnded | LatencyMeasured
