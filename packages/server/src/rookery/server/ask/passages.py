"""What Ask finds: passages of the history, the filters of a question, and the interface of
retrieval.

A document (a run, a commit, an action, a page of our docs, an uploaded text) is cut into passages
of about 200 words. A passage has the fields of its document, so that filters and visibility depend
on the passage only. Passages and filters have the types of the wire format.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from rookery.core.protocol.ask import FoundPassage, PassageFilter, PassageKind

__all__ = ["Asker", "Document", "FoundPassage", "PassageFilter", "PassageKind", "Retriever"]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A unit of indexing: its title and body are cut into passages, which have its fields.

    Equal documents give equal rows, whatever was indexed before.
    """

    key: str
    """The unique key: the kind and an id (`run:ID`, `commit:HASH`)."""
    kind: PassageKind
    title: str
    body: str
    """The text as written; the index separates statistics lines and links from it."""
    url: str
    engine: str = ""
    """The engine under test, by which questions can be filtered."""
    engines: tuple[str, ...] = ()
    """All engines that it is about; it is visible only to those who may see all of them."""
    owner: str = ""
    """The only user who may see it; empty for everybody."""
    user: str = ""
    time: datetime | None = None
    tc: str = ""
    time_class: str = ""
    outcome: str = ""
    elo: str = ""
    commit: str = ""


class Asker(msgspec.Struct, frozen=True, kw_only=True):
    """The user who asks, and what they must not see.

    `name` is empty for a visitor. Passages about engines in `hidden` are invisible to them, and so
    are other people's uploads that are not shared.
    """

    name: str = ""
    hidden: frozenset[str] = frozenset()


class Retriever(Protocol):
    """The interface of retrieval: the best passages for a question, best first."""

    async def search(
        self,
        question: str,
        asker: Asker,
        wanted: PassageFilter = ...,
        *,
        limit: int = 10,
        extra_terms: Sequence[str] = (),
    ) -> tuple[FoundPassage, ...]:
        """Search for passages; `extra_terms` are words of an earlier question that this one refers
        to."""
        ...

    async def find_rare_terms(self, question: str, asker: Asker, *, limit: int = 5) -> list[str]:
        """Return the most significant words of a question, for a later one that refers to it."""
        ...
