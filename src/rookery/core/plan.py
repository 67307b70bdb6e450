"""What a test asks for: who plays whom, how long, by which rules, on which machines."""

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
    uci: tuple[tuple[str, str], ...] = ()
    """Options whose names or values hold spaces, which `options` can't express."""
    nets: tuple[str, ...] = ()
    repository: str = STOCKFISH.source
    engine: str = STOCKFISH.name
    binary: str = ""
    tc: TimeControl | None = None
    threads: int | None = None
    record: str = ""
    """The engine's record as it was when the run was submitted, which is what an approver lets
    onto machines; empty for runs from before that was kept."""

    @property
    def hash_mib(self) -> int:
        """The hash table its options ask for; 0 where they don't say."""
        tokens = (token.partition("=") for token in self.options.split())
        values = {name: value for name, _, value in tokens} | dict(self.uci)
        size = values.get("Hash", "")
        return int(size) if size.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Book:
    """An opening book; `official` ones are those that official workers can fetch, `sri` is the
    hash by which a worker checks its copy."""

    name: str
    depth: int = 8
    official: bool = True
    sri: str = ""

    @property
    def variant(self) -> str:
        """What the official worker plays from a book of this name."""
        name = self.name.upper()
        return "chess960" if "FRC" in name or "960" in name else "standard"


@dataclass(frozen=True, slots=True)
class Resign:
    """Lost after so many moves in a row at or below minus so many centipawns."""

    score: int
    moves: int
    two_sided: bool = False


@dataclass(frozen=True, slots=True)
class Draw:
    """Drawn after so many moves in a row within so many centipawns of zero."""

    from_move: int
    moves: int
    score: int


@dataclass(frozen=True, slots=True)
class Rules:
    """How games are played and ended. `adjudicated` alone stands for the official worker's rules
    about decided games; a rule of the test's own goes beyond them."""

    adjudicated: bool = True
    resign: Resign | None = None
    draw: Draw | None = None
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
    master_repo: str = ""
    """Where the branch is kept that a patch is meant for, if not with the official engine."""

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
