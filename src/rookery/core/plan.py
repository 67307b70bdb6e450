"""What a test asks for: who plays whom, how long, by which rules, on which machines."""

import enum
from dataclasses import dataclass

from rookery.core.engine import STOCKFISH
from rookery.core.timecontrol import TimeControl


@dataclass(frozen=True, slots=True)
class Side:
    """One engine that plays; what is None is the plan's own."""

    tag: str
    commit: str
    message: str = ""
    signature: str = ""
    options: str = "Hash=16"
    nets: tuple[str, ...] = ()
    repository: str = STOCKFISH.source
    engine: str = STOCKFISH.name
    binary: str = ""
    tc: TimeControl | None = None
    threads: int | None = None

    @property
    def hash_mib(self) -> int:
        """The hash table its options ask for; 0 where they don't say."""
        for token in self.options.split():
            name, _, value = token.partition("=")
            if name == "Hash" and value.isdecimal():
                return int(value)
        return 0


@dataclass(frozen=True, slots=True)
class Book:
    """An opening book; `official` ones are those that official workers can fetch."""

    name: str
    depth: int = 8
    official: bool = True


class Adjudication(enum.Enum):
    """Who ends decided games: the official worker's rule, nobody, or a rule of the test's own."""

    CLASSIC = "classic"
    OFF = "off"
    OWN = "own"


@dataclass(frozen=True, slots=True)
class Rules:
    """How games are played and ended, beyond what every official worker does."""

    adjudication: Adjudication = Adjudication.CLASSIC
    resign: str = ""
    draw: str = ""
    syzygy_men: int = 0
    variant: str = ""
    scaled: bool = True
    time_margin_ms: int | None = None
    strict_pvs: bool = False
    pgn_detail: str = ""


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which machines may play."""

    arch_filter: str = ""
    compiler: str = ""
    mirrored: bool = False
    """Sources come from this server, so that a machine out of GitHub calls can play too."""


@dataclass(frozen=True, slots=True)
class Plan:
    """All a submitter chose. A kind of run says what the sides are; two are new and base."""

    sides: tuple[Side, ...]
    games: int
    tc: TimeControl
    owner: str
    book: Book
    threads: int = 1
    rules: Rules = Rules()
    wishes: Wishes = Wishes()
    priority: int = 0
    throughput: int = 100
    auto_purge: bool = False
    info: str = ""

    @property
    def engine(self) -> str:
        """The engine whose share of the fleet this run uses: the one under test."""
        return self.sides[0].engine

    @property
    def slot_threads(self) -> int:
        """Cores that one game occupies; sides of unequal threads take turns on the larger."""
        return max(self.side_threads(side) for side in self.sides)

    def side_threads(self, side: Side) -> int:
        return self.threads if side.threads is None else side.threads

    def side_tc(self, side: Side) -> TimeControl:
        return self.tc if side.tc is None else side.tc
