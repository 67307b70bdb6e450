"""The index of passages in memory, searched with the same terms and formula."""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from rookery.core.boundary.offload import Threads
from rookery.server.ask.passage_index import (
    CutDocument,
    CutPassage,
    IndexSize,
    PassageIndex,
    Then,
    cut_document,
    do_nothing,
)
from rookery.server.ask.passages import Asker, Document, FoundPassage, PassageFilter
from rookery.server.ask.retrieval import Bm25Retriever, FoundRow, Widen
from rookery.server.ask.thesaurus import Widened, weigh_equally
from rookery.server.ask.words import read_stop_words
from rookery.server.db.table import Transaction

STOP_WORDS = read_stop_words()
Placed = tuple[CutDocument, int, CutPassage]


class RecordedWrites:
    """Stands for a transaction, and records what else a change wrote."""

    def __init__(self) -> None:
        self.written: list[tuple[str, tuple[object, ...]]] = []

    async def __call__(self, query: str, *values: object) -> Any:
        self.written.append((query, values))


class MemoryPassages(PassageIndex):
    def __init__(self) -> None:
        self.cut: dict[str, CutDocument] = {}
        self.writes = RecordedWrites()
        self._threads = Threads()

    async def apply(
        self, documents: Iterable[Document], removed: Iterable[str], *, then: Then = do_nothing
    ) -> None:
        for key in removed:
            self.cut.pop(key, None)
        for document in documents:
            self.cut[document.key] = await self._threads.cpu(cut_document, document, STOP_WORDS)
        await then(cast("Transaction", self.writes))

    async def list_keys(self, prefix: str, *, after: str = "", limit: int = 1_000) -> list[str]:
        keys = sorted(key for key in self.cut if key.startswith(prefix) and key > after)
        return keys[:limit]

    async def measure(self) -> IndexSize:
        return IndexSize(len(self.cut), sum(len(cut.passages) for cut in self.cut.values()))

    def list_visible(self, asker: Asker) -> Iterator[Placed]:
        for cut in self.cut.values():
            document = cut.document
            if not asker.hidden & set(document.engines) and document.owner in ("", asker.name):
                for place, passage in enumerate(cut.passages):
                    yield cut, place, passage


class MemoryRetriever(Bm25Retriever):
    def __init__(self, passages: MemoryPassages, widen: Widen = weigh_equally) -> None:
        self._passages = passages
        self._widen = widen
        self._stop_words = STOP_WORDS

    async def search(
        self,
        question: str,
        asker: Asker,
        wanted: PassageFilter = PassageFilter(),  # noqa: B008 it is frozen
        *,
        limit: int = 10,
        extra_terms: Sequence[str] = (),
    ) -> tuple[FoundPassage, ...]:
        widened = self._widen_question(question, extra_terms)
        terms = frozenset(each.term for each in widened.alternatives)
        visible = list(self._passages.list_visible(asker))
        scores = [(_score(each[2], widened, visible), each) for each in visible]
        found = [
            _make_row(cut, place, passage, score).make_passage(terms)
            for score, (cut, place, passage) in scores
            if score > 0 and _is_wanted(cut.document, wanted)
        ]
        return tuple(sorted(found, key=lambda each: (-each.score, each.id))[:limit])

    async def find_rare_terms(self, question: str, asker: Asker, *, limit: int = 5) -> list[str]:
        visible = list(self._passages.list_visible(asker))
        found = {term: _frequency(term, visible) for term in self._list_asked(question)}
        rare = sorted((frequency, term) for term, frequency in found.items() if frequency)
        return [term for _, term in rare][:limit]


def _frequency(term: str, visible: Sequence[Placed]) -> int:
    return sum(term in passage.counts for _, _, passage in visible)


def _score(passage: CutPassage, widened: Widened, visible: Sequence[Placed]) -> float:
    average = sum(each.length for _, _, each in visible) / len(visible)
    best: dict[int, float] = {}
    literal = 0.0
    for term, concept, weight in widened.alternatives:
        count, frequency = passage.counts[term], _frequency(term, visible)
        if frequency:
            rarity = math.log(1 + (len(visible) - frequency + 0.5) / (frequency + 0.5))
            length = 1.2 * (0.25 + 0.75 * passage.length / average)
            score = weight * rarity * count / (count + length)
            best[concept] = max(score, best.get(concept, 0.0))
            literal += score if weight == 1 else 0.0
    held = sum(score > 0 for score in best.values())
    covered = (held / len(best)) ** widened.coverage if held else 0.0
    return sum(best.values()) * covered + widened.literal * literal


def _is_wanted(document: Document, wanted: PassageFilter) -> bool:
    time = document.time
    return (
        (not wanted.kinds or document.kind in wanted.kinds)
        and (not wanted.engine or wanted.engine == document.engine)
        and wanted.user in ("", document.user)
        and wanted.time_class in ("", document.time_class)
        and wanted.outcome in ("", document.outcome)
        and (wanted.since is None or (time is not None and time >= wanted.since))
        and (wanted.until is None or (time is not None and time < wanted.until))
    )


def _make_row(cut: CutDocument, place: int, passage: CutPassage, score: float) -> FoundRow:
    document = cut.document
    return FoundRow(
        key=document.key,
        place=place,
        kind=document.kind,
        title=document.title,
        text=passage.text,
        url=document.url,
        score=score,
        engine=document.engine,
        user=document.user,
        time=document.time,
        tc=document.tc,
        outcome=document.outcome,
        elo=document.elo,
        commit=document.commit,
        statistics=list(cut.clean.statistics),
        links=list(cut.clean.links),
    )
