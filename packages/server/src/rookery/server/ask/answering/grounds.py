"""What an answer is made from, the interface of answerers, and the check of citations.

An answer cites passages by their number in brackets: [1] is the first. Numbers without a passage
are removed from the stream, because a model may invent them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from rookery.core.errors import Complaint, NoModel
from rookery.core.http_client import HeldCall
from rookery.core.protocol.ask import ChatMessage
from rookery.server.ask.passages import FoundPassage

LONGEST_CITATION = 24
LONGEST_NUMBER = 3
_NUMBERS = re.compile(r"\[[0-9, ]{1,22}\]", re.ASCII)


class AnswerFailed(NoModel, Complaint):
    """There is no whole answer. `detail` is for the operator's log alone."""

    def __init__(self, sentence: str, detail: str = "") -> None:
        super().__init__(sentence)
        self.detail = detail


class Grounds(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer is made from: the question, the passages found, and the earlier
    conversation."""

    question: str
    passages: tuple[FoundPassage, ...]
    history: tuple[ChatMessage, ...] = ()
    note: str = ""
    """A note at the beginning of the answer, such as why it was made without the model."""


class Answerer(Protocol):
    """Makes answers. One per site."""

    @property
    def name(self) -> str: ...

    @property
    def asks_model(self) -> bool:
        """Whether it calls a model, which takes time and may cost money; otherwise it only computes
        for a moment."""
        ...

    @property
    def works(self) -> bool:
        """Whether the last answer was completed; abandoned answers do not count."""
        ...

    def write(self, grounds: Grounds, held: HeldCall) -> Iterator[str]:
        """Return the answer piece by piece; blocks. Raise AnswerFailed. Another thread may abandon
        it through `held`."""
        ...


def check_citations(pieces: Iterable[str], count: int) -> Iterator[str]:
    """Yield the pieces, without citations of passages that do not exist."""
    held = ""
    for piece in pieces:
        ready, held = _split(held + piece)
        if ready := _strike_out(ready, count):
            yield ready
    if rest := _strike_out(held, count):
        yield rest


def _split(text: str) -> tuple[str, str]:
    """Split a text into the part that is complete, and the beginning of a possible citation."""
    start = text.rfind("[")
    if start < 0 or len(text) - start > LONGEST_CITATION:
        return text, ""
    if text[start + 1 :].strip("0123456789, "):
        return text, ""
    return text[:start], text[start:]


def _strike_out(text: str, count: int) -> str:
    if "[" not in text:
        return text
    return _NUMBERS.sub(lambda found: _kept(found[0], count), text)


def _kept(citation: str, count: int) -> str:
    numbers = _valid(citation, count)
    return f"[{', '.join(map(str, numbers))}]" if numbers else ""


def _valid(citation: str, count: int) -> list[int]:
    words = citation.strip("[]").replace(",", " ").split()
    return [int(word) for word in words if len(word) <= LONGEST_NUMBER and 1 <= int(word) <= count]
