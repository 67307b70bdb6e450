"""The index of passages in PostgreSQL: adds and removes documents.

The interface:

- the index job and uploads: `PassageIndex.put(documents)`, `.remove(keys)`, or `.apply` for both in
  one transaction; `then` is called with that transaction before it is committed, which is where a
  cursor is written. `.list_keys` pages through what is indexed, `.measure` counts it.

Theory of operation. A passage belongs to a scope: its kind, its engines, its owner. Sums and
frequencies are kept by scope and added up over the scopes that an asker may see (`retrieval`). So a
hidden passage is neither found nor affects a score. Writers exclude one another, so that sums stay
exact.
"""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

import msgspec

from rookery.server.ask.passages import Document
from rookery.server.ask.words import (
    CleanText,
    clean_text,
    count_terms,
    cut_passages,
    drop_control_characters,
)
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.table import Table, Transaction
from rookery.server.farm.published import InThread, inline

DIGEST_VERSION = b"1"
"""To be incremented when the same text gives other passages or terms; everything is then indexed
anew."""
MOST_COUNTED = 1_000

Then = Callable[[Transaction], Awaitable[object]]


async def do_nothing(_write: Transaction) -> None:
    """Add nothing to the transaction: the default for `then`."""


@dataclass(frozen=True, slots=True)
class CutPassage:
    text: str
    counts: Counter[str]

    @property
    def length(self) -> int:
        return self.counts.total()


@dataclass(frozen=True, slots=True)
class CutDocument:
    """A document with its passages, ready to be written."""

    document: Document
    clean: CleanText
    digest: bytes
    passages: tuple[CutPassage, ...]

    def row(self) -> dict[str, object]:
        return {
            **msgspec.structs.asdict(self.document),
            "body": "",
            "digest": self.digest.hex(),
            "statistics": self.clean.statistics,
            "links": self.clean.links,
        }


def cut_document(document: Document, stop_words: frozenset[str]) -> CutDocument:
    """Clean and cut a document; words of its title count in each of its passages."""
    clean = clean_text(document.body)
    document = _normalise(document)
    passages = tuple(
        CutPassage(text, count_terms(document.title, text, stop_words))
        for text in cut_passages(clean.text)
    )
    return CutDocument(document, clean, _digest(document, clean), passages)


def _normalise(document: Document) -> Document:
    """Return the document with texts without control characters, and its engines sorted."""
    texts = {
        name: drop_control_characters(value)
        for name, value in msgspec.structs.asdict(document).items()
        if isinstance(value, str) and name not in ("key", "kind", "body")
    }
    engines = sorted({*document.engines, document.engine} - {""})
    return msgspec.structs.replace(document, **texts, engines=tuple(engines))


def _digest(document: Document, clean: CleanText) -> bytes:
    """Return a digest of everything from which the rows of passages and postings are made."""
    scope = (document.kind, document.engine, document.engines, document.owner)
    parts = (*scope, document.title, clean.text)
    return hashlib.sha256(DIGEST_VERSION + msgspec.json.encode(parts)).digest()


@dataclass(frozen=True, slots=True)
class IndexRows:
    """Documents and their passages as two JSON texts, so that the loop need not process them; the
    database makes all other rows from them."""

    documents: str
    passages: str


def make_rows(documents: Iterable[Document], stop_words: frozenset[str]) -> IndexRows:
    """Do all the computing; to be called in a thread."""
    cut = [cut_document(document, stop_words) for document in documents]
    passages = [
        {
            "key": each.document.key,
            "place": place,
            "text": passage.text,
            "length": passage.length,
            "terms": list(passage.counts),
            "counts": [min(count, MOST_COUNTED) for count in passage.counts.values()],
        }
        for each in cut
        for place, passage in enumerate(each.passages)
    ]
    return IndexRows(_encode([each.row() for each in cut]), _encode(passages))


def _encode(rows: list[dict[str, object]]) -> str:
    return msgspec.json.encode(rows).decode()


REMOVAL = (
    "ask_postings_remove",
    "ask_frequencies_lower",
    "ask_scopes_lower",
    "ask_frequencies_tidy",
    "ask_documents_remove",
)
ADDITION = ("ask_postings_add", "ask_frequencies_raise", "ask_scopes_raise")


@dataclass(frozen=True, slots=True)
class IndexSize:
    documents: int
    passages: int


class PassageIndex(Table):
    """The documents that can be found, with the sums for scores."""

    def __init__(
        self,
        pool: Pool,
        queries: Queries,
        stop_words: frozenset[str],
        in_thread: InThread = inline,
    ) -> None:
        super().__init__(pool, queries)
        self._stop_words = stop_words
        self._in_thread = in_thread

    async def put(self, documents: Iterable[Document], *, then: Then = do_nothing) -> None:
        """Index documents, replacing those with the same keys."""
        await self.apply(documents, (), then=then)

    async def remove(self, keys: Iterable[str], *, then: Then = do_nothing) -> None:
        """Remove documents; unknown keys are ignored."""
        await self.apply((), keys, then=then)

    async def apply(
        self,
        documents: Iterable[Document],
        removed: Iterable[str],
        *,
        then: Then = do_nothing,
    ) -> None:
        """Put and remove documents in one transaction, and call `then` at its end. A key that is
        both removed and put stays; of two documents with the same key the later one counts. Call it
        with up to about 100 documents or half a megabyte at a time, so that no statement takes
        long."""
        latest = {document.key: document for document in documents}
        gone = set(removed) - latest.keys()
        rows = await self._in_thread(lambda: make_rows(latest.values(), self._stop_words))
        async with self._writing() as write:
            if latest or gone:
                await write("ask_lock")
                await _remove(
                    write, await write.column("ask_documents_stale", rows.documents, list(gone))
                )
                await _add(write, rows)
                await write("ask_scopes_tidy")
            await then(write)

    async def list_keys(self, prefix: str, *, after: str = "", limit: int = 1_000) -> list[str]:
        """Keys of indexed documents with this prefix, in order; the next page begins after the last
        one."""
        return await self._column("ask_keys", prefix, after, limit)

    async def measure(self) -> IndexSize:
        size = await self._one(IndexSize, "ask_size")
        assert size is not None
        return size


async def _remove(write: Transaction, ids: list[int]) -> None:
    for query in REMOVAL if ids else ():
        await write(query, ids)


async def _add(write: Transaction, rows: IndexRows) -> None:
    await write("ask_documents_change", rows.documents)
    await write("ask_scopes_add", rows.documents)
    new = await write.column("ask_documents_add", rows.documents)
    if new:
        await write("ask_passages_add", rows.passages, new)
        for query in ADDITION:
            await write(query, new)
