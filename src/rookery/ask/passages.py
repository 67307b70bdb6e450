"""What Ask finds: passages of the history, the filters of a question and the port of retrieval.

A document (a run, a commit, an action, a page of our docs, an uploaded text) is cut into passages
of about 200 words. A passage keeps the fields of its document, so that filters and privacy are
decided by the passage alone. Passages and filters are the wire's own types.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from rookery.protocol.ask import FoundPassage, PassageFilter, PassageKind

__all__ = ["Asker", "Document", "FoundPassage", "PassageFilter", "PassageKind", "Retriever"]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """What is indexed as one: its title and body are cut into passages, which keep its fields.

    Two equal documents leave the same rows behind, whatever was indexed before.
    """

    key: str
    """Unique: the kind, and what tells it from others of the kind (`run:ID`, `commit:HASH`)."""
    kind: PassageKind
    title: str
    body: str
    """As it was written; the index drops statistics lines and links, and keeps them beside it."""
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


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks, and what they must not see.

    `name` is empty for a visitor. Passages of the engines in `hidden` do not exist for them, nor
    do the uploads of others that were not shared.
    """

    name: str = ""
    hidden: frozenset[str] = frozenset()


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

    async def find_rare_terms(self, question: str, asker: Asker, *, limit: int = 5) -> list[str]:
        """The words of a question that say most, for a later one that leans on it."""
        ...
