"""Our BM25 in SQL beside the one of the package bm25s, over the same terms."""

import random
from collections.abc import Sequence

import bm25s
import pytest
from msgspec.structs import replace

from rookery.server.ask.passage_index import PassageIndex, cut_document
from rookery.server.ask.passages import Asker, Document, PassageKind
from rookery.server.ask.retrieval import Bm25Retriever
from rookery.server.ask.words import list_terms
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from tests.database import pool_on
from tests.twins.ask import STOP_WORDS

pytestmark = pytest.mark.anyio

WORDS = [f"word{number}" for number in range(400)]


def make_documents(chance: random.Random, count: int) -> list[Document]:
    """Texts of all lengths, in which some words are common and most are rare, as in real ones."""
    weights = [1 / (place + 1) for place in range(len(WORDS))]
    return [
        Document(
            key=f"doc:{number:04}",
            kind=PassageKind.DOC,
            title=" ".join(chance.choices(WORDS, weights, k=chance.randint(1, 8))),
            body=" ".join(chance.choices(WORDS, weights, k=chance.randint(0, 150))),
            url="",
        )
        for number in range(count)
    ]


def index_by_package(documents: Sequence[Document]) -> bm25s.BM25:
    tokens = [
        list(cut_document(document, STOP_WORDS).passages[0].counts.elements())
        for document in documents
    ]
    package = bm25s.BM25(method="lucene", k1=1.2, b=0.75, dtype="float64")
    package.index(tokens, show_progress=False)
    return package


def score_by_package(package: bm25s.BM25, question: str) -> list[float]:
    asked = list(dict.fromkeys(list_terms(question, STOP_WORDS)))
    return [float(score) for score in package.get_scores(asked)]


@pytest.fixture
def documents() -> list[Document]:
    return make_documents(random.Random(20), 300)


@pytest.fixture
def package(documents: list[Document]) -> bm25s.BM25:
    """Made before the loop runs: it writes a log."""
    return index_by_package(documents)


async def test_the_ten_best_are_those_of_bm25s_with_the_same_scores(
    database: Target, queries: Queries, documents: list[Document], package: bm25s.BM25
) -> None:
    chance = random.Random(21)
    async with pool_on(database) as pool:
        index = PassageIndex(pool, queries, STOP_WORDS)
        for first in range(0, 300, 30):
            await index.put(documents[first : first + 30])
        await index.remove(document.key for document in documents[50:80])
        await index.put(documents[50:80])
        retriever = Bm25Retriever(pool, queries, STOP_WORDS, common_share=1)
        for _ in range(20):
            question = " ".join(chance.choices(WORDS, k=chance.randint(1, 10)))
            scores = score_by_package(package, question)
            found = await retriever.search(question, Asker())
            best = sorted(range(300), key=lambda place: (-scores[place], place))[:10]
            expected = [scores[place] for place in best if scores[place] > 0]
            assert [each.score for each in found] == pytest.approx(expected, abs=2e-6)
            assert [each.score for each in found] == pytest.approx(
                [scores[int(each.id.partition(":")[2])] for each in found], abs=2e-6
            )


REST = """
SELECT kind, engine, owner, s.passages, s.length,
    (SELECT array_agg((term, f.passages) ORDER BY term) FROM ask_frequencies AS f
        WHERE f.scope = s.id) AS frequencies,
    (SELECT array_agg((term, key, place, count, p.length) ORDER BY term, key, place)
        FROM ask_postings AS p
        JOIN ask_passages ON ask_passages.id = p.passage
        JOIN ask_documents ON ask_documents.id = ask_passages.document
        WHERE p.scope = s.id) AS postings
FROM ask_scopes AS s
ORDER BY kind, engine, owner
"""


async def test_after_any_changes_the_index_is_what_a_new_one_would_be(
    database: Target, queries: Queries
) -> None:
    chance = random.Random(4)
    kept: dict[str, Document] = {}
    async with pool_on(database) as pool:
        index = PassageIndex(pool, queries, STOP_WORDS)
        for _ in range(25):
            put = [
                replace(each, key=f"doc:{chance.randrange(20)}", engine=chance.choice(["", "owl"]))
                for each in make_documents(chance, chance.randint(0, 4))
            ]
            removed = [f"doc:{chance.randrange(20)}" for _ in range(chance.randint(0, 3))]
            await index.apply(put, removed)
            kept = {key: each for key, each in kept.items() if key not in removed}
            kept |= {each.key: each for each in put}
        changed = await pool.fetch(REST)
        await index.remove(list(kept))
        assert await pool.fetch(REST) == []
        await index.put(kept.values())
        assert len(changed) == 2
        assert await pool.fetch(REST) == changed
