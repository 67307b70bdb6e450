"""Needs: what a run asks of a worker, derived from its plan, with a sentence for each."""

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from rookery.core.engine import STOCKFISH, Catalogue, Engine, Version
from rookery.core.machine import BUNDLED, Abilities
from rookery.core.plan import Plan
from rookery.core.timecontrol import is_classic

CLASSIC_SIDES = 2
"""How many engines an official worker plays with."""


class NeedWord(enum.StrEnum):
    """The kinds of needs; the official worker meets STOCKFISH_BUILD and no other."""

    STOCKFISH_BUILD = "stockfish_build"
    RECIPE = "recipe"
    BINARY = "binary"
    TWO_REPOS = "two_repos"
    MANY_SIDES = "many_sides"
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
    NeedWord.MANY_SIDES: "the worker can't play with this many engines",
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
    NeedWord.SANDBOX: "the worker keeps its engines in no sandbox",
    NeedWord.CPU_FLAG: "the processor lacks {value}",
    NeedWord.SYSTEM: "the engine is not for this operating system ({value})",
    NeedWord.TOOL: "the tool {value} is missing or too old",
}


@dataclass(frozen=True, slots=True)
class Need:
    """One thing a worker must have; `value` and `version` where the word alone doesn't say."""

    word: NeedWord
    value: str = ""
    version: Version = ()

    def __str__(self) -> str:
        least = ">=" + ".".join(map(str, self.version)) if self.version else ""
        return f"{self.word}:{self.value}{least}" if self.value else str(self.word)

    @property
    def sentence(self) -> str:
        """What is missing, for a person."""
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
    """The first need the worker doesn't meet: the reason that is shown."""
    return next((need for need in needs if not need.met_by(abilities)), None)


def missing_team(needs: tuple[Need, ...], abilities: Abilities) -> Need | None:
    """The team that the worker's owner is not in."""
    teams = (need for need in needs if need.word is NeedWord.TEAM)
    return next((need for need in teams if not need.met_by(abilities)), None)


def needs_of(plan: Plan, catalogue: Catalogue) -> tuple[Need, ...]:
    """All needs of a plan, each once, in a fixed order (a kind of run may add its own)."""
    found = [*_of_sides(plan, catalogue), *_of_rules(plan)]
    return tuple(dict.fromkeys(found))


def _of_sides(plan: Plan, catalogue: Catalogue) -> Iterator[Need]:
    if len(plan.sides) != CLASSIC_SIDES:
        yield Need(NeedWord.MANY_SIDES)
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


def _of_build(engine: Engine) -> Iterator[Need]:
    if engine.recipe == STOCKFISH.recipe:
        yield Need(NeedWord.STOCKFISH_BUILD)
        return
    yield Need(NeedWord.RECIPE, engine.recipe)
    for tool in engine.tools:
        yield Need(NeedWord.TOOL, tool.name, tool.version)


def _of_engine(engine: Engine) -> Iterator[Need]:
    if engine.speed != STOCKFISH.speed:
        yield Need(NeedWord.OWN_SPEED)
    if engine.private and engine.team:
        yield Need(NeedWord.TEAM, engine.team)
    if engine.sandboxed:
        yield Need(NeedWord.SANDBOX)
    for flag in sorted(engine.cpu_flags):
        yield Need(NeedWord.CPU_FLAG, flag)
    if engine.systems:
        yield Need(NeedWord.SYSTEM, "|".join(sorted(engine.systems)))


def _of_rules(plan: Plan) -> Iterator[Need]:
    rules = plan.rules
    if not all(is_classic(plan.side_tc(side)) for side in plan.sides):
        yield Need(NeedWord.NODES_TC)
    if not plan.book.official:
        yield Need(NeedWord.CUSTOM_BOOK)
    if rules.resign or rules.draw:
        yield Need(NeedWord.ADJUDICATION)
    if rules.syzygy_men:
        yield Need(NeedWord.SYZYGY, str(rules.syzygy_men))
    if rules.variant and rules.variant != plan.book.variant:
        yield Need(NeedWord.VARIANT, rules.variant)
    if not rules.scaled or rules.strict_pvs or rules.pgn_detail or rules.time_margin_ms is not None:
        yield Need(NeedWord.PLAY_RULES)
