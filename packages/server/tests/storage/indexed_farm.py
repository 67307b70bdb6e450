"""A farm on a real database, and an index of it that can be killed between two statements."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.model.events import Action, about_run
from rookery.core.model.run import Run
from rookery.server.ask.corpus import DocPage, KnownCommit
from rookery.server.ask.history import IndexedHistory
from rookery.server.ask.indexing import CorpusRows, Indexer
from rookery.server.ask.passage_index import PassageIndex, Then, do_nothing
from rookery.server.ask.passages import Asker, Document
from rookery.server.ask.retrieval import Bm25Retriever
from rookery.server.ask.uploads import StoredUpload
from rookery.server.ask.words import read_stop_words
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.target import Target
from rookery.server.farm.commits import GroupCommit
from rookery.server.farm.rules.answers import Changes
from tests.database import pool_on
from tests.makers import NOW, OWNER, make_plan, make_run, make_side
from tests.storage.farm.stores import opened

SECRET = "xyzzysecret"
ENGINES = ("Public", "owls~Hidden")
WORDS = ("late move reductions", "razoring margin LLR: 2.95", "null move\n\nmore in depth")
STOP_WORDS = read_stop_words()
HISTORY = IndexedHistory("owls~Hidden", "https://example.org/hidden", False, "", NOW)

DUMP = """
SELECT 'scope', kind, engine, engines::text, owner, passages, length, '', '' FROM ask_scopes
UNION ALL
SELECT 'document', key, title, url, user_name || tc || time_class || outcome || elo || commit_hash,
    0, 0, statistics::text || links::text || coalesce(at::text, ''), s.kind || s.engines::text
FROM ask_documents JOIN ask_scopes AS s ON s.id = scope
UNION ALL
SELECT 'passage', key, p.text, '', '', place, p.length, p.terms::text, ''
FROM ask_passages AS p JOIN ask_documents AS d ON d.id = document
UNION ALL
SELECT 'posting', term, key, '', '', count, o.length, place::text, s.kind || s.engines::text
FROM ask_postings AS o JOIN ask_passages AS p ON p.id = passage
JOIN ask_documents AS d ON d.id = document JOIN ask_scopes AS s ON s.id = o.scope
UNION ALL
SELECT 'frequency', term, s.kind, s.engine, s.engines::text, f.passages, 0, s.owner, ''
FROM ask_frequencies AS f JOIN ask_scopes AS s ON s.id = scope
"""
EMPTY = """
TRUNCATE runs, actions, ask_scopes, ask_documents, ask_passages, ask_postings, ask_frequencies,
    ask_changes, ask_histories, ask_commits, ask_uploads CASCADE;
UPDATE ask_cursors SET number = 0, mark = '';
"""


class Killed(Exception):
    """The process ended at this point."""


class MortalIndex(PassageIndex):
    """Dies after so many slices: before one is written, or before it is committed."""

    slices_left = 10**9
    in_transaction = False

    async def apply(
        self, documents: Iterable[Document], removed: Iterable[str], *, then: Then = do_nothing
    ) -> None:
        async def die(write: Any) -> None:
            await then(write)
            raise Killed

        self.slices_left -= 1
        if self.slices_left < 0 and not self.in_transaction:
            raise Killed
        await super().apply(documents, removed, then=die if self.slices_left < 0 else then)


@dataclass
class Farm:
    """What a server has of all this, on one database."""

    pool: Pool
    queries: Queries
    commits: GroupCommit
    pages: tuple[DocPage, ...] = (DocPage("why", "# Why\n\nBecause of tests."),)

    def indexer(self, index: PassageIndex | None = None) -> Indexer:
        found = index or PassageIndex(self.pool, self.queries, STOP_WORDS)
        rows = CorpusRows(self.pool, self.queries)
        return Indexer(rows, found, Threads(), SystemClock(), read_pages=lambda: self.pages)

    def mortal(self, slices: int, *, in_transaction: bool = False) -> Indexer:
        index = MortalIndex(self.pool, self.queries, STOP_WORDS)
        index.slices_left, index.in_transaction = slices, in_transaction
        return self.indexer(index)

    async def commit(self, *runs: Run, said: str = "", action: Action = Action.STOP_RUN) -> None:
        events = [about_run(action, run, OWNER.name, NOW, said) for run in runs if said]
        put = self.commits.put(Changes(runs=runs, events=tuple(events)))
        await self.commits.wait_committed(put)

    async def dump(self) -> list[tuple[Any, ...]]:
        return sorted(tuple(row) for row in await self.pool.fetch(DUMP))

    async def rebuilt(self) -> list[tuple[Any, ...]]:
        indexer = self.indexer()
        await indexer.rows.begin_anew()
        await indexer.catch_up()
        return await self.dump()

    async def found_by(self, hidden: Sequence[str] = (), name: str = "") -> set[str]:
        """The kinds of passages in which a stranger finds the secret."""
        retriever = Bm25Retriever(self.pool, self.queries, STOP_WORDS)
        asker = Asker(name=name, hidden=frozenset(hidden))
        found = await retriever.search(SECRET, asker)
        assert all(SECRET in f"{each.title} {each.text}" for each in found)
        return {each.kind.value for each in found}


def make_secret_run(name: str, engine: str, words: str = SECRET, **fields: Any) -> Run:
    sides = (
        make_side("idea", engine=engine, message=f"{words} message", commit="a" * 40),
        make_side("master", engine="Public"),
    )
    return make_run(name, make_plan(sides=sides, info=f"{words} info"), **fields)


def make_upload(name: str, *, shared: bool = False) -> StoredUpload:
    digest = name.encode().hex().ljust(64, "0")
    return StoredUpload(
        digest[:32], digest, 9, OWNER.name, digest, f"{name}.txt", "text", shared, NOW
    )


def make_commit(number: int, words: str = SECRET) -> KnownCommit:
    return KnownCommit(
        engine=HISTORY.engine,
        hash=f"{number:040x}",
        repository=HISTORY.repository,
        author="olga",
        at=NOW,
        message=f"{words} {number}\n\nBench: 123",
    )


def use_farm(database: Target, queries: Queries, test: Any) -> None:
    """Runs a coroutine function on a farm, on a loop of its own."""

    async def run() -> None:
        async with pool_on(database) as pool, opened(database, queries) as store:
            await test(Farm(pool, queries, await store.take()))

    asyncio.run(run())
