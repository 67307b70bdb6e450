"""The index of passages in PostgreSQL: what is put into it, and what is taken out.

What others call:

- the index job and uploads: `PassageIndex.put(documents)`, `.remove(keys)`, or `.apply` for both in
  one transaction; `then` is called with that transaction before it is committed, which is where a
  cursor is written. `.list_keys` pages through what is indexed, `.measure` counts it.

Theory of operation. A passage belongs to a scope: its kind, its engines, its owner. Sums and
frequencies are kept by scope and added up over the scopes that an asker may see (`retrieval`).
Hence a hidden passage is neither found nor felt in a score. All writers take turns, so that sums
stay exact.
"""

import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from rookery.ask.passages import Document
from rookery.ask.words import (
    CleanText,
    clean_text,
    count_terms,
    cut_passages,
    drop_control_characters,
)
from rookery.db.pool import Pool, Queries
from rookery.db.table import Table, Transaction
from rookery.farm.purges import InThread, inline

DIGEST_VERSION = b"1"
"""To be counted up when the same text gives other passages or terms: all is indexed anew then."""
MOST_COUNTED = 1_000
POSTINGS_AT_ONCE = 5_000

Then = Callable[[Transaction], Awaitable[object]]


async def do_nothing(_write: Transaction) -> None:
    """What belongs into the transaction of most changes."""


# What a document becomes


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
    """Cleans and cuts a document; a word of its title counts in each of its passages."""
    clean = clean_text(document.body)
    document = _normalise(document)
    passages = tuple(
        CutPassage(text, count_terms(document.title, text, stop_words))
        for text in cut_passages(clean.text)
    )
    return CutDocument(document, clean, _digest(document, clean), passages)


def _normalise(document: Document) -> Document:
    """Texts without control characters, engines in order."""
    texts = {
        name: drop_control_characters(value)
        for name, value in msgspec.structs.asdict(document).items()
        if isinstance(value, str) and name not in ("key", "kind", "body")
    }
    engines = sorted({*document.engines, document.engine} - {""})
    return msgspec.structs.replace(document, **texts, engines=tuple(engines))


def _digest(document: Document, clean: CleanText) -> bytes:
    """Changes with all that the rows of passages and postings are made from."""
    scope = (document.kind, document.engine, document.engines, document.owner)
    parts = (*scope, document.title, clean.text)
    return hashlib.sha256(DIGEST_VERSION + msgspec.json.encode(parts)).digest()


# Writing


@dataclass(frozen=True, slots=True)
class IndexSize:
    documents: int
    passages: int


class PassageIndex(Table):
    """What can be found, kept with the sums that scores are made from."""

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
        """Indexes documents, in the place of what stood under their keys."""
        await self.apply(documents, (), then=then)

    async def remove(self, keys: Iterable[str], *, then: Then = do_nothing) -> None:
        """Forgets documents; keys that are not indexed are ignored."""
        await self.apply((), keys, then=then)

    async def apply(
        self,
        documents: Iterable[Document],
        removed: Iterable[str],
        *,
        then: Then = do_nothing,
    ) -> None:
        """Both in one transaction, in which `then` is called last. A key that is both removed and
        put stays; of two documents with one key the later counts. Up to about 100 at a time."""
        latest = {document.key: document for document in documents}
        cut = await self._in_thread(
            lambda: [cut_document(document, self._stop_words) for document in latest.values()]
        )
        gone = set(removed) - latest.keys()
        async with self._writing() as write:
            if cut or gone:
                await write("ask_lock")
                await self._replace(write, cut, gone)
            await then(write)

    async def _replace(
        self, write: Transaction, cut: Sequence[CutDocument], gone: set[str]
    ) -> None:
        keys = [*gone, *(each.document.key for each in cut)]
        known = {
            key: (id_, digest) for id_, key, digest in await write.rows("ask_documents_known", keys)
        }
        same = [each for each in cut if known.get(each.document.key, (0, b""))[1] == each.digest]
        kept = {each.document.key for each in same}
        await _remove(write, [id_ for key, (id_, _) in known.items() if key not in kept])
        await write("ask_documents_change", _rows(each.row() for each in same))
        await _add(write, [each for each in cut if each.document.key not in kept])
        await write("ask_scopes_tidy")

    async def list_keys(self, prefix: str, *, after: str = "", limit: int = 1_000) -> list[str]:
        """Keys of indexed documents that begin so, in order; the next page is after the last."""
        return await self._column("ask_keys", prefix, after, limit)

    async def measure(self) -> IndexSize:
        size = await self._one(IndexSize, "ask_size")
        assert size is not None
        return size


async def _remove(write: Transaction, ids: list[int]) -> None:
    for query in (
        "ask_postings_remove",
        "ask_frequencies_lower",
        "ask_scopes_lower",
        "ask_frequencies_tidy",
        "ask_documents_remove",
    ):
        if ids:
            await write(query, ids)


async def _add(write: Transaction, cut: Sequence[CutDocument]) -> None:
    rows = _rows(each.row() for each in cut)
    await write("ask_scopes_add", rows)
    placed = {key: (id_, scope) for key, id_, scope in await write.rows("ask_documents_add", rows)}
    passages = {
        (placed[each.document.key][0], place): (placed[each.document.key][1], passage)
        for each in cut
        for place, passage in enumerate(each.passages)
    }
    numbers = await write.rows(
        "ask_passages_add",
        _rows(
            {
                "document": document,
                "place": place,
                "text": passage.text,
                "length": passage.length,
                "terms": list(passage.counts),
            }
            for (document, place), (_, passage) in passages.items()
        ),
    )
    numbered = [(id_, *passages[document, place]) for document, place, id_ in numbers]
    await _add_postings(write, numbered)
    await _add_sums(write, [(scope, passage) for _, scope, passage in numbered])


async def _add_postings(
    write: Transaction, numbered: Sequence[tuple[int, int, CutPassage]]
) -> None:
    postings = sorted(
        (term, id_, min(count, MOST_COUNTED), passage.length, scope)
        for id_, scope, passage in numbered
        for term, count in passage.counts.items()
    )
    for first in range(0, len(postings), POSTINGS_AT_ONCE):
        await write("ask_postings_add", *_turned(postings[first : first + POSTINGS_AT_ONCE]))


async def _add_sums(write: Transaction, added: Sequence[tuple[int, CutPassage]]) -> None:
    frequencies = Counter((term, scope) for scope, passage in added for term in passage.counts)
    sums: dict[int, tuple[int, int]] = {}
    for scope, passage in added:
        passages, length = sums.get(scope, (0, 0))
        sums[scope] = passages + 1, length + passage.length
    if sums:
        rows = sorted((*place, count) for place, count in frequencies.items())
        await write("ask_frequencies_raise", *_turned(rows, 3))
        await write("ask_scopes_raise", *_turned([(id_, *sum_) for id_, sum_ in sums.items()]))


def _rows(values: Iterable[object]) -> str:
    return msgspec.json.encode(list(values)).decode()


def _turned(rows: Sequence[Sequence[Any]], width: int = 0) -> list[list[Any]]:
    """Rows as columns, which is how a statement takes many of them."""
    return [[row[place] for row in rows] for place in range(width or len(rows[0]))]
