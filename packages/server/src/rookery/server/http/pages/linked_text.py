"""Splits texts that people wrote into plain pieces and web addresses, which templates turn into
links.

It makes a single pass over the words, so that its time is proportional to the length of any text.
"""

from collections.abc import Iterator
from dataclasses import dataclass

SCHEMES = ("https://", "http://")
CLOSING = ".,;:!?'\"”’)]}>"
"""Characters that end a sentence or close a bracket, and are not part of an address before them."""
OPENING = "([{<'\"“‘"
LONGEST_ADDRESS = 2000


@dataclass(frozen=True, slots=True)
class TextPiece:
    """A piece of a text. `address` is its link, or empty."""

    text: str
    address: str = ""


def split_links(text: str) -> tuple[TextPiece, ...]:
    """Split a text into pieces, in order and complete."""
    pieces: list[TextPiece] = []
    plain: list[str] = []
    for piece in _split_words(text):
        if not piece.address:
            plain.append(piece.text)
            continue
        if plain:
            pieces.append(TextPiece("".join(plain)))
            plain.clear()
        pieces.append(piece)
    if plain:
        pieces.append(TextPiece("".join(plain)))
    return tuple(pieces)


def _split_words(text: str) -> Iterator[TextPiece]:
    begin = 0
    for at, letter in enumerate(text):
        if letter.isspace():
            yield from _split_word(text[begin:at])
            yield TextPiece(letter)
            begin = at + 1
    yield from _split_word(text[begin:])


def _split_word(word: str) -> Iterator[TextPiece]:
    if not word:
        return
    inner = word.lstrip(OPENING)
    address = inner.rstrip(CLOSING)
    # An address may contain brackets of its own, as those of Wikipedia do.
    if "(" in address and inner[len(address) :].startswith(")"):
        address += ")"
    known = address.lower().startswith(SCHEMES) and "." in address
    if not known or len(address) > LONGEST_ADDRESS:
        yield TextPiece(word)
        return
    before = word[: len(word) - len(inner)]
    if before:
        yield TextPiece(before)
    yield TextPiece(address, address)
    if rest := inner[len(address) :]:
        yield TextPiece(rest)
