"""What a test consists of: who plays whom, how long, by which rules, on which machines.

`Plan` and `Side` are the only declaration of a run's arguments. A run's row stores them as JSON;
what workers get, scripts submit and people read are views of them with fishtest's flat keys
(`protocol/runs.py`).
"""

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field
from msgspec.structs import asdict, replace

from rookery.core.model.bounds import Cores, Count, Paragraph, Phrase, Positive, Word
from rookery.core.model.engine import BUNDLED, STOCKFISH, Catalogue, EngineRecord, Version
from rookery.core.model.machine import Abilities
from rookery.core.model.timecontrol import TimeControl, is_classic, is_timed, parse

Filled = Annotated[str, Meta(min_length=1, max_length=1000)]
Nets = Annotated[tuple[Word, ...], Meta(max_length=20)]
UciOptions = Annotated[tuple[tuple[Word, Phrase], ...], Meta(max_length=1000)]
ProgramHash = Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?\Z")]
Variant = Literal["standard", "chess960"]
Scaling = Literal["nps", "off"]
PgnDetail = Literal["full", "moves", "none"]
Compiler = Literal["", "g++", "clang++"]

BOOK_NAME = re.compile(
    r"(?:[A-Za-z0-9][A-Za-z0-9_-]{1,49}~)?[A-Za-z0-9][A-Za-z0-9_.+-]{0,150}\.(?:epd|pgn)", re.ASCII
)
"""The pattern of a book's file name. Names that begin with a team's name and `~` are reserved for
that team."""


def is_book_of_chess960(name: str) -> bool:
    """Whether a book is for Fischer random, which its name must say."""
    return "FRC" in name.upper() or "960" in name


class Side(Struct, frozen=True, gc=False):
    """One of the engines that play; a value of None means the plan's own."""

    tag: Filled
    commit: Word
    message: Paragraph = ""
    signature: Word = ""
    options: Paragraph = "Hash=16"
    uci: UciOptions = ()
    """UCI options whose names or values contain spaces, which `options` can't express."""
    nets: Nets = ()
    repository: Phrase = STOCKFISH.source
    engine: Word = STOCKFISH.name
    binary: ProgramHash = ""
    tc: Word | None = None
    threads: Cores | None = None
    record: str = ""
    """The engine's record when the run was submitted, which is what an approver approves; empty for
    older runs."""

    @property
    def hash_mib(self) -> int:
        """The size of the hash table in its options; 0 if they don't set one."""
        tokens = (token.partition("=") for token in self.options.split())
        values = {name: value for name, _, value in tokens} | dict(self.uci)
        size = values.get("Hash", "")
        return int(size) if size.isdecimal() else 0


class Resign(Struct, frozen=True, gc=False):
    """Resignation: a side has lost after `moves` moves in a row at or below minus `score`
    centipawns."""

    score: Count
    moves: Positive
    two_sided: bool = False


class Draw(Struct, frozen=True, gc=False):
    """Draw: the game is drawn after `moves` moves in a row within `score` centipawns of zero."""

    from_move: Count
    moves: Positive
    score: Count


class Plan(Struct, frozen=True, gc=False):
    """All that the submitter chose. New and base play each other; in a tune they are one program.

    Time controls are stored as text. `adjudication` means the official worker's rules for decided
    games, each of which `resign` and `draw` replace by the test's own; without it, games end early
    by `resign` and `draw` alone.
    """

    sides: tuple[Side, Side]
    games: Count = field(name="num_games")
    tc: Word
    owner: Word = field(name="username")
    book: Filled
    book_depth: Count = 8
    book_sri: Word = ""
    """The hash by which a worker checks its copy of the book."""
    book_official: bool = True
    """Whether official workers can fetch the book."""
    threads: Cores = 1
    adjudication: bool = True
    resign: Resign | None = None
    draw: Draw | None = None
    syzygy_men: Annotated[int, Meta(ge=0, le=8)] = 0
    variant: Variant | None = None
    scaling: Scaling = "nps"
    """Whether times are scaled to the speed of the machine."""
    time_margin_ms: Count | None = None
    strict_pv: bool = False
    pgn_detail: PgnDetail | None = None
    arch_filter: Phrase = ""
    compiler: Compiler = ""
    mirrored: bool = False
    """Whether sources come from this server, so that machines without GitHub calls can play,
    too."""
    priority: int = 0
    throughput: int = 100
    auto_purge: bool = False
    info: Paragraph = ""
    master_repo: Phrase = ""
    """The repository for which a patch is meant, if it is not the official engine's."""

    @property
    def engine(self) -> str:
        """The engine under test, whose share of the fleet this run uses."""
        return self.new.engine

    @property
    def new(self) -> Side:
        """The side under test."""
        return self.sides[0]

    @property
    def base(self) -> Side:
        """The side that it is compared with."""
        return self.sides[1]

    @property
    def time_control(self) -> TimeControl:
        return parse(self.tc)

    @property
    def is_scaled(self) -> bool:
        return self.scaling != "off"

    @property
    def is_timed(self) -> bool:
        """Whether a side's time is limited; fixed nodes and depth take as long as they take."""
        return any(is_timed(parse(self.side_tc(side))) for side in self.sides)

    @property
    def book_variant(self) -> str:
        """The variant that the official worker plays with a book of this name."""
        return "chess960" if is_book_of_chess960(self.book) else "standard"

    @property
    def plays_chess960(self) -> bool:
        """Whether the games are of Fischer random: as the test says, or as its book is named."""
        return (self.variant or self.book_variant) == "chess960"

    @property
    def slot_threads(self) -> int:
        """The cores that one game occupies; sides with different threads take turns, so the larger
        number counts."""
        return max(self.side_threads(side) for side in self.sides)

    def side_threads(self, side: Side) -> int:
        return self.threads if side.threads is None else side.threads

    def side_tc(self, side: Side) -> str:
        return self.tc if side.tc is None else side.tc


class Modification(Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """Changes to a run; fields that are left out stay as they are."""

    games: Count | UnsetType = field(name="num_games", default=UNSET)
    priority: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] | UnsetType = UNSET
    throughput: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    auto_purge: bool | UnsetType = UNSET
    info: Paragraph | UnsetType = UNSET

    def applied_to(self, plan: Plan) -> Plan:
        given = {name: value for name, value in asdict(self).items() if value is not UNSET}
        return replace(plan, **given)


# Needs: what a run requires of a worker, derived from its plan, with a sentence for each.


class NeedWord(enum.StrEnum):
    """The kinds of needs; the official worker meets STOCKFISH_BUILD and no other."""

    STOCKFISH_BUILD = "stockfish_build"
    RECIPE = "recipe"
    BINARY = "binary"
    TWO_REPOS = "two_repos"
    SIDE_THREADS = "side_threads"
    UCI_OPTIONS = "uci_options"
    OWN_SPEED = "own_speed"
    NODES_TC = "nodes_tc"
    CUSTOM_BOOK = "custom_book"
    ADJUDICATION = "adjudication"
    SYZYGY = "syzygy"
    VARIANT = "variant"
    PLAY_RULES = "play_rules"
    FLOAT_SPSA = "float_spsa"
    TEAM = "team"
    SANDBOX = "sandbox"
    CPU_FLAG = "cpu"
    SYSTEM = "os"
    TOOL = "tool"


_SENTENCES = {
    NeedWord.STOCKFISH_BUILD: "the worker can't build Stockfish",
    NeedWord.RECIPE: "the worker doesn't know the build recipe {value}",
    NeedWord.BINARY: "the worker can't play uploaded binaries",
    NeedWord.TWO_REPOS: "the worker can't take its engines from two repositories",
    NeedWord.SIDE_THREADS: "the worker can't give the sides different threads",
    NeedWord.UCI_OPTIONS: "the worker can't set options that hold spaces",
    NeedWord.OWN_SPEED: "the worker scales times by another engine's speed",
    NeedWord.NODES_TC: "the worker can play on the clock only",
    NeedWord.CUSTOM_BOOK: "the worker can't fetch this opening book",
    NeedWord.ADJUDICATION: "the worker doesn't know this adjudication rule",
    NeedWord.SYZYGY: "the worker has no verified {value}-men tablebases",
    NeedWord.VARIANT: "the worker doesn't play the variant {value}",
    NeedWord.PLAY_RULES: "the worker doesn't know the rules this run is played by",
    NeedWord.FLOAT_SPSA: "the worker rounds every tuned parameter",
    NeedWord.TEAM: "the worker's owner is not in the team {value}",
    NeedWord.SANDBOX: "the worker has no sandbox for engines",
    NeedWord.CPU_FLAG: "the processor lacks {value}",
    NeedWord.SYSTEM: "the engine is not for this operating system ({value})",
    NeedWord.TOOL: "the tool {value} is missing or too old",
}


@dataclass(frozen=True, slots=True)
class Need:
    """One thing that a worker must have; `value` and `version` give details that the word does
    not."""

    word: NeedWord
    value: str = ""
    version: Version = ()

    def __str__(self) -> str:
        least = ">=" + ".".join(map(str, self.version)) if self.version else ""
        return f"{self.word}:{self.value}{least}" if self.value else str(self.word)

    @property
    def sentence(self) -> str:
        """A sentence that tells people what is missing."""
        least = " " + ".".join(map(str, self.version)) if self.version else ""
        return _SENTENCES[self.word].format(value=self.value + least)

    def met_by(self, abilities: Abilities) -> bool:
        if self.word is NeedWord.STOCKFISH_BUILD:
            return "stockfish" in abilities.recipes
        return abilities.rookery and self._met_by_rookery(abilities)

    def _met_by_rookery(self, abilities: Abilities) -> bool:
        match self.word:
            case NeedWord.RECIPE:
                return self.value in abilities.recipes
            case NeedWord.BINARY:
                return abilities.recipes != {BUNDLED}
            case NeedWord.SYZYGY:
                return int(self.value) <= abilities.syzygy_men
            case NeedWord.VARIANT:
                return self.value in abilities.variants
            case NeedWord.TEAM:
                return self.value in abilities.teams
            case NeedWord.SANDBOX:
                return abilities.sandbox
            case NeedWord.CPU_FLAG:
                return self.value in abilities.cpu_flags
            case NeedWord.SYSTEM:
                return abilities.system in self.value.split("|")
            case NeedWord.TOOL:
                version = abilities.tool_version(self.value)
                return version is not None and version >= self.version
            case _:
                return True


def first_missing(needs: tuple[Need, ...], abilities: Abilities) -> Need | None:
    """Return the first need that the worker does not meet, which is the reason shown; None if it
    meets all."""
    return next((need for need in needs if not need.met_by(abilities)), None)


def missing_team(needs: tuple[Need, ...], abilities: Abilities) -> Need | None:
    """Return the need for a team that the worker's owner is not in; None if there is none."""
    teams = (need for need in needs if need.word is NeedWord.TEAM)
    return next((need for need in teams if not need.met_by(abilities)), None)


def needs_of(plan: Plan, catalogue: Catalogue) -> tuple[Need, ...]:
    """All needs of a plan, each once, in a fixed order; a kind of run may add more."""
    found = [*_of_sides(plan, catalogue), *_of_rules(plan)]
    return tuple(dict.fromkeys(found))


def _of_sides(plan: Plan, catalogue: Catalogue) -> Iterator[Need]:
    if len({side.repository for side in plan.sides}) > 1:
        yield Need(NeedWord.TWO_REPOS)
    if len({plan.side_threads(side) for side in plan.sides}) > 1:
        yield Need(NeedWord.SIDE_THREADS)
    if any(side.uci for side in plan.sides):
        yield Need(NeedWord.UCI_OPTIONS)
    for side in plan.sides:
        record = catalogue.record(side.engine)
        if side.binary:
            yield Need(NeedWord.BINARY)
        else:
            yield from _of_build(record)
        yield from _of_engine(record)


def _of_build(engine: EngineRecord) -> Iterator[Need]:
    if engine.recipe.kind == STOCKFISH.recipe.kind:
        yield Need(NeedWord.STOCKFISH_BUILD)
        return
    yield Need(NeedWord.RECIPE, engine.needed_recipe)
    for tool in engine.tools:
        yield Need(NeedWord.TOOL, tool.name, tool.least)


def _of_engine(engine: EngineRecord) -> Iterator[Need]:
    if engine.speed != STOCKFISH.speed:
        yield Need(NeedWord.OWN_SPEED)
    if engine.private and engine.team:
        yield Need(NeedWord.TEAM, engine.team)
    if engine.sandboxed:
        yield Need(NeedWord.SANDBOX)
    for flag in sorted(set(engine.cpu_flags)):
        yield Need(NeedWord.CPU_FLAG, flag)
    if engine.systems:
        yield Need(NeedWord.SYSTEM, "|".join(sorted(set(engine.systems))))


def _of_rules(plan: Plan) -> Iterator[Need]:
    if not all(is_classic(parse(plan.side_tc(side))) for side in plan.sides):
        yield Need(NeedWord.NODES_TC)
    if not plan.book_official:
        yield Need(NeedWord.CUSTOM_BOOK)
    if plan.resign or plan.draw:
        yield Need(NeedWord.ADJUDICATION)
    if plan.syzygy_men:
        yield Need(NeedWord.SYZYGY, str(plan.syzygy_men))
    if plan.variant and plan.variant != plan.book_variant:
        yield Need(NeedWord.VARIANT, plan.variant)
    margin = plan.time_margin_ms is not None
    if not plan.is_scaled or plan.strict_pv or plan.pgn_detail or margin:
        yield Need(NeedWord.PLAY_RULES)


# Demands: the fixed properties of a run that a machine is compared with, computed once.


@dataclass(frozen=True, slots=True)
class Demands:
    """What a run demands of machines; runs with equal demands suit the same machines."""

    engine: str
    threads: int = 1
    machine_mib: int = 0
    slot_mib: int = 0
    arch_filter: str = ""
    compiler: str = ""
    mirrored: bool = False
    needs: tuple[Need, ...] = ()
    timed: bool = True
    """Whether it needs exact times, which a noisy machine does not have."""

    def slots(self, cores: int) -> int:
        """How many games a machine with so many cores plays at once."""
        return cores // self.threads

    def memory_mib(self, cores: int) -> int:
        """Return the memory that all simultaneous games take."""
        return self.machine_mib + self.slots(cores) * self.slot_mib


def demands_of(plan: Plan, catalogue: Catalogue, extra: tuple[Need, ...] = ()) -> Demands:
    """Return the demands of a plan; `extra` are the needs that its kind of run adds."""
    records = {side.engine: catalogue.record(side.engine).memory for side in plan.sides}
    return Demands(
        engine=plan.engine,
        threads=plan.slot_threads,
        machine_mib=max(memory.machine for memory in records.values()),
        slot_mib=sum(
            side.hash_mib
            + records[side.engine].process
            + records[side.engine].thread * plan.side_threads(side)
            for side in plan.sides
        ),
        arch_filter=plan.arch_filter,
        compiler=plan.compiler,
        mirrored=plan.mirrored,
        needs=(*needs_of(plan, catalogue), *extra),
        timed=plan.is_timed,
    )
