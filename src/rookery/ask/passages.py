"""What Ask finds: passages of the history, the filters of a question and the port of retrieval.

A document (a run, a commit, an action, a page of our docs, an uploaded text) is cut into passages
of about 200 words. A passage keeps the fields of its document, so that filters and privacy are
decided by the passage alone.
"""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Protocol

import msgspec


class PassageKind(StrEnum):
    """Where a passage comes from."""

    RUN = "run"
    COMMIT = "commit"
    ACTION = "action"
    DOC = "doc"
    UPLOAD = "upload"


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What is indexed as one: its title and body are cut into passages, which keep its fields.

    Two equal documents leave the same rows behind, whatever was indexed before.
    """

    key: str
    """Unique: the kind, and what tells it from others of the kind (`run:ID`, `commit:HASH`)."""
    kind: PassageKind
    title: str
    body: str
    """Paragraphs without statistics and links."""
    url: str
    engine: str = ""
    """The engine under test, by which questions are filtered."""
    engines: tuple[str, ...] = ()
    """All engines that it tells of: hidden from everybody who may not see each of them."""
    owner: str = ""
    """Who alone may see it; empty for everybody."""
    user: str = ""
    time: datetime | None = None
    tc: str = ""
    time_class: str = ""
    outcome: str = ""
    elo: str = ""
    commit: str = ""


class PassageFilter(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a question is restricted to; an empty field restricts nothing."""

    engine: str = ""
    user: str = ""
    since: datetime | None = None
    until: datetime | None = None
    time_class: str = ""
    """`stc`, `ltc` or `vltc`, as the lists of runs call them."""
    outcome: str = ""
    """`passed`, `failed`, `positive` or `stopped`."""
    kinds: tuple[PassageKind, ...] = ()


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and what they must not see.

    `name` is empty for a visitor. Passages of the engines in `hidden` do not exist for them, nor
    do the uploads of others that were not shared.
    """

    name: str = ""
    hidden: frozenset[str] = frozenset()


class FoundPassage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage that matches a question, as answers and APIs show it."""

    id: str
    kind: PassageKind
    title: str
    text: str
    url: str
    score: float
    snippet: str = ""
    """A part of the text with the matched words between U+E000 and U+E001, to be escaped first."""
    engine: str = ""
    user: str = ""
    time: datetime | None = None
    tc: str = ""
    outcome: str = ""
    elo: str = ""
    """Elo and its error in words, for runs that have played."""
    commit: str = ""
    """The hash of a commit, or of a run's new side."""


class Retriever(Protocol):
    """The port of retrieval: the best passages for a question, best first."""

    async def search(
        self,
        question: str,
        asker: Asker,
        wanted: PassageFilter = ...,
        *,
        limit: int = 10,
        extra_terms: Sequence[str] = (),
    ) -> tuple[FoundPassage, ...]:
        """`extra_terms` are words of earlier questions that the new one leans on."""
        ...
