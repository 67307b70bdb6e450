"""The index of passages and the search in it: one contract, held by PostgreSQL and by its twin."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from rookery.server.ask.passage_index import IndexSize, PassageIndex
from rookery.server.ask.passages import Asker, Document, PassageFilter, PassageKind
from rookery.server.ask.retrieval import Bm25Retriever
from rookery.server.db.pool import Queries
from rookery.server.db.table import Transaction
from rookery.server.db.target import Target
from tests.database import pool_on
from tests.documents import RAZORING
from tests.twins.ask import STOP_WORDS, MemoryPassages, MemoryRetriever

pytestmark = pytest.mark.anyio

VISITOR = Asker()
RAZOR = replace(
    RAZORING,
    body="Razor more at low depth.\n\nLLR: 2.95 (-2.94,2.94)\nhttps://example.org/tests/1\n",
    engines=(),
    user="olga",
)
PRUNE = Document(
    key="run/2",
    kind=PassageKind.RUN,
    title="Prune quiet moves",
    body="Futility pruning with a larger margin for quiet moves.",
    url="/runs/2",
    engine="jay",
    engines=("owl",),
    user="sven",
    time=datetime(2026, 4, 1, tzinfo=UTC),
    tc="60+0.6",
    time_class="ltc",
    outcome="passed",
)
NOTES = Document(
    key="upload/3",
    kind=PassageKind.UPLOAD,
    title="Notes",
    body="My own thoughts on the margin of razoring.",
    url="/documents/3",
    owner="olga",
)


@dataclass(frozen=True)
class Library:
    index: PassageIndex
    retriever: Bm25Retriever

    async def find(
        self, question: str, asker: Asker = VISITOR, wanted: PassageFilter | None = None
    ) -> list[str]:
        found = await self.retriever.search(question, asker, wanted or PassageFilter())
        return [each.id for each in found]


@pytest.fixture(params=["memory", "postgres"])
async def library(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[Library]:
    if request.param == "memory":
        passages = MemoryPassages()
        yield Library(passages, MemoryRetriever(passages))
        return
    async with pool_on(database) as pool:
        index = PassageIndex(pool, queries, STOP_WORDS)
        yield Library(index, Bm25Retriever(pool, queries, STOP_WORDS, common_share=1))


@pytest.fixture
async def filled(library: Library) -> Library:
    await library.index.put([RAZOR, PRUNE, NOTES])
    return library


async def test_a_found_passage_has_the_fields_of_its_document(filled: Library) -> None:
    (found,) = await filled.retriever.search("razor", VISITOR)
    assert (found.id, found.kind, found.title, found.url) == (
        RAZOR.key,
        RAZOR.kind,
        RAZOR.title,
        RAZOR.url,
    )
    assert (found.engine, found.user, found.time, found.commit) == (
        "owl",
        RAZOR.user,
        RAZOR.time,
        RAZOR.commit,
    )
    assert found.text == "Razor more at low depth."
    assert found.snippet == "\ue000Razor\ue001 more at low depth."
    assert found.statistics == ("LLR: 2.95 (-2.94,2.94)",)
    assert found.links == ("https://example.org/tests/1",)


async def test_the_best_comes_first_and_any_word_suffices(filled: Library) -> None:
    assert await filled.find("was a razoring margin tried?") == [RAZOR.key, PRUNE.key]


@pytest.mark.parametrize(
    "wanted",
    [
        PassageFilter(engine="jay"),
        PassageFilter(user="sven"),
        PassageFilter(since=datetime(2026, 3, 2, tzinfo=UTC)),
        PassageFilter(time_class="ltc"),
        PassageFilter(outcome="passed"),
        PassageFilter(kinds=(PassageKind.RUN, PassageKind.DOC)),
    ],
    ids=str,
)
async def test_a_filter_restricts_the_search(filled: Library, wanted: PassageFilter) -> None:
    assert await filled.find("margin", wanted=wanted) == [PRUNE.key]


async def test_the_end_of_a_period_is_outside_of_it(filled: Library) -> None:
    assert await filled.find("margin", wanted=PassageFilter(until=PRUNE.time)) == [RAZOR.key]


async def test_an_upload_is_for_its_owner_alone(filled: Library) -> None:
    assert await filled.find("thoughts") == []
    assert await filled.find("thoughts", Asker(name="sven")) == []
    assert await filled.find("thoughts", Asker(name="olga")) == [NOTES.key]


async def test_what_one_may_not_see_is_neither_found_nor_felt(library: Library) -> None:
    await library.index.put([RAZOR, NOTES])
    before = await library.retriever.search("margin quiet moves", VISITOR)
    await library.index.put([replace(PRUNE, key=f"run/{n}") for n in range(20)])
    stranger = Asker(name="zoe", hidden=frozenset({"jay"}))
    assert await library.retriever.search("margin quiet moves", stranger) == before
    assert await library.retriever.find_rare_terms("futility margin", stranger) == ["margin"]
    assert len(await library.retriever.search("margin", VISITOR)) == 10


async def test_a_document_put_again_replaces_the_one_before(filled: Library) -> None:
    await filled.index.put([replace(RAZOR, title="Smaller aspiration windows", body="")])
    assert await filled.find("razoring") == []
    assert await filled.find("aspiration") == [RAZOR.key]


async def test_fields_change_without_the_text(filled: Library) -> None:
    await filled.index.put([replace(PRUNE, outcome="failed", elo="-1.2 ± 0.8")])
    (found,) = await filled.retriever.search("margin", VISITOR, PassageFilter(outcome="failed"))
    assert (found.id, found.elo) == (PRUNE.key, "-1.2 ± 0.8")


async def test_removed_documents_are_gone_with_their_keys(filled: Library) -> None:
    await filled.index.remove([RAZOR.key, "run/unknown"])
    assert await filled.find("razoring") == []
    assert await filled.index.list_keys("commit/") == []
    assert await filled.index.measure() == IndexSize(documents=2, passages=2)


async def test_keys_come_in_pages(filled: Library) -> None:
    assert await filled.index.list_keys("", limit=2) == [RAZOR.key, PRUNE.key]
    assert await filled.index.list_keys("", after=PRUNE.key) == [NOTES.key]


async def test_rare_terms_come_rarest_first(filled: Library) -> None:
    found = await filled.retriever.find_rare_terms(
        "the margin of futility at move zugzwang", VISITOR
    )
    assert found == ["futility", "margin"]


async def test_hostile_questions_find_nothing_and_break_nothing(filled: Library) -> None:
    for question in ("'; DROP TABLE ask_postings; --", "%_\\", "\0\ud800", "", "x " * 500_000):
        assert await filled.find(question) == []
    assert await filled.find("margin\0 'razoring'" + "?" * 1_000_000) == [RAZOR.key, PRUNE.key]
    assert await filled.find("margin", wanted=PassageFilter(user="' OR true --\0")) == []


async def test_a_change_and_what_goes_with_it_are_one_transaction(
    database: Target, queries: Queries
) -> None:
    async def fail(_write: Transaction) -> None:
        raise RuntimeError("killed")

    async with pool_on(database) as pool:
        index = PassageIndex(pool, queries, STOP_WORDS)
        with pytest.raises(RuntimeError, match="killed"):
            await index.put([RAZOR], then=fail)
        assert await index.measure() == IndexSize(documents=0, passages=0)
