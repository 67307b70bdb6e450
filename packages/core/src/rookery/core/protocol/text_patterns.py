"""The part of regular expressions that scripts use in filters: text, `.`, `.*`, `^`, `$` and `|`.

A pattern from outside is only ever matched piece by piece, never compiled as it came: matching it
then takes time proportional to the text for each of its few `.*`.
"""

import enum
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MOST_CHARACTERS = 200
MOST_WILD = 5
SPECIAL = frozenset(".^$*+?()[]{}|\\")


class Wild(enum.Enum):
    """A piece that stands for any text, written as in SQL's LIKE."""

    ONE = "_"
    MANY = "%"


Pieces = tuple[str | Wild, ...]


class UnknownPattern(Exception):
    """The pattern holds something else than the part that is understood."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    """Texts of which one of the alternatives describes the whole."""

    alternatives: tuple[Pieces, ...]
    ignore_case: bool = False

    def describes(self, text: str) -> bool:
        flags = re.DOTALL | (re.IGNORECASE if self.ignore_case else 0)
        return any(re.fullmatch(_expression(each), text, flags) for each in self.alternatives)


def parse_pattern(text: str, *, ignore_case: bool) -> TextPattern:
    """Return the pattern; raise UnknownPattern."""
    if len(text) > MOST_CHARACTERS:
        raise UnknownPattern
    alternatives = tuple(map(_parse_alternative, _split(_tokens(text))))
    return TextPattern(alternatives, ignore_case)


def _split(tokens: Iterable[str]) -> Iterator[list[str]]:
    """Yield the alternatives between the bars."""
    alternative: list[str] = []
    for each in tokens:
        if each == "|":
            yield alternative
            alternative = []
        else:
            alternative.append(each)
    yield alternative


def _tokens(text: str) -> Iterator[str]:
    """Characters, each with the backslash before it."""
    characters = iter(text)
    for character in characters:
        yield character + next(characters, "") if character == "\\" else character


def _parse_alternative(tokens: list[str]) -> Pieces:
    begins, ends = tokens[:1] == ["^"], tokens[-1:] == ["$"]
    inner = tokens[begins : len(tokens) - ends]
    before: Pieces = () if begins else (Wild.MANY,)
    after: Pieces = () if ends else (Wild.MANY,)
    pieces = _merge([*before, *_pieces(inner), *after])
    if sum(piece is Wild.MANY for piece in pieces) > MOST_WILD:
        raise UnknownPattern
    return tuple(pieces)


def _pieces(tokens: list[str]) -> Iterator[str | Wild]:
    at = 0
    while at < len(tokens):
        if tokens[at : at + 2] == [".", "*"]:
            yield Wild.MANY
            at += 1
        elif tokens[at] == ".":
            yield Wild.ONE
        else:
            yield _literal(tokens[at])
        at += 1


def _literal(token: str) -> str:
    # A backslash before a letter or digit begins a class, a reference or a boundary.
    if token in SPECIAL or (token[0] == "\\" and token[1].isalnum()):
        raise UnknownPattern
    return token[-1]


def _merge(pieces: list[str | Wild]) -> list[str | Wild]:
    """Join neighbouring characters, and several `.*` in a row."""
    merged: list[str | Wild] = []
    for piece in pieces:
        last = merged[-1] if merged else None
        if isinstance(piece, str) and isinstance(last, str):
            merged[-1] = last + piece
        elif piece is not Wild.MANY or last is not Wild.MANY:
            merged.append(piece)
    return merged


def _expression(pieces: Pieces) -> str:
    words = {Wild.ONE: ".", Wild.MANY: ".*"}
    return "".join(words[each] if isinstance(each, Wild) else re.escape(each) for each in pieces)
