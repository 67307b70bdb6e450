"""UCI options as fields of frozen dataclasses: their declaration, and a changed copy."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Group = TypeVar("Group", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Spin:
    """A whole number between two limits."""

    name: str
    low: int
    high: int

    def declared(self, default: object) -> str:
        return f"option name {self.name} type spin default {default} min {self.low} max {self.high}"

    def parsed(self, text: str) -> int:
        return max(self.low, min(self.high, int(text)))


@dataclass(frozen=True, slots=True)
class Check:
    """On or off."""

    name: str

    def declared(self, default: object) -> str:
        return f"option name {self.name} type check default {'true' if default else 'false'}"

    def parsed(self, text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false")
        return text.lower() == "true"


class UnknownOption(ValueError):
    """there is no such option"""


# A field's declared type is that of its value, so these return Any as dataclasses.field does.
def spin(name: str, default: int, low: int, high: int) -> Any:
    return dataclasses.field(default=default, metadata={"option": Spin(name, low, high)})


def check(name: str, default: bool) -> Any:
    return dataclasses.field(default=default, metadata={"option": Check(name)})


def declarations(group: type["DataclassInstance"]) -> Iterator[str]:
    """The `option` lines of a group, in the order of its fields."""
    for each in dataclasses.fields(group):
        if (option := each.metadata.get("option")) is not None:
            yield option.declared(each.default)


def changed(group: Group, name: str, text: str) -> Group:
    """A copy with one option set; raises UnknownOption, or ValueError for a wrong value."""
    for each in dataclasses.fields(group):
        option = each.metadata.get("option")
        if option is not None and option.name.lower() == name.lower():
            return dataclasses.replace(group, **{each.name: option.parsed(text)})
    raise UnknownOption(name)


# All that can be set: the weights of the evaluation, which a tuner may turn, and the behaviour.


@dataclass(frozen=True, slots=True)
class Weights:
    """What the evaluation counts, in hundredths of a pawn."""

    pawn: int = spin("PawnValue", 95, 40, 200)
    knight: int = spin("KnightValue", 320, 100, 600)
    bishop: int = spin("BishopValue", 335, 100, 600)
    rook: int = spin("RookValue", 500, 200, 900)
    queen: int = spin("QueenValue", 980, 400, 1800)
    bishop_pair: int = spin("BishopPair", 32, 0, 150)
    tempo: int = spin("Tempo", 12, 0, 80)
    mobility: int = spin("Mobility", 4, 0, 30)
    doubled_pawn: int = spin("DoubledPawn", 12, 0, 80)
    isolated_pawn: int = spin("IsolatedPawn", 10, 0, 80)
    passed_pawn: int = spin("PassedPawn", 9, 0, 60)
    open_file: int = spin("RookOpenFile", 16, 0, 100)
    king_shield: int = spin("KingShield", 9, 0, 60)
    piece_square: int = spin("PieceSquare", 100, 0, 300)
    """How much a piece's square counts, in percent."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the engine behaves, and its weights."""

    hash_megabytes: int = spin("Hash", 16, 1, 1024)
    threads: int = spin("Threads", 1, 1, 1)
    overhead_ms: int = spin("MoveOverhead", 30, 0, 5000)
    chess960: bool = check("UCI_Chess960", default=False)
    ponder: bool = check("Ponder", default=False)
    quiescence: bool = check("Quiescence", default=True)
    """Without it captures are not followed to their end: the engine becomes much weaker."""
    blunder: int = spin("Blunder", 0, 0, 100)
    """In how many of a hundred positions any legal move is played."""
    node_noise: int = spin("NodeNoise", 0, 0, 90)
    """By how many percent, up or down, a node limit is changed from position to position."""
    seed: int = spin("Seed", 0, 0, 2**31 - 1)
    """What blunders and noise are drawn from, together with the position."""
    weights: Weights = field(default_factory=Weights)


def option_lines() -> list[str]:
    """Every option's declaration."""
    return [*declarations(Settings), *declarations(Weights)]


def with_option(settings: Settings, name: str, text: str) -> Settings:
    """A copy with one option set; raises UnknownOption, or ValueError for a wrong value."""
    try:
        return changed(settings, name, text)
    except UnknownOption:
        return replace(settings, weights=changed(settings.weights, name, text))
