"""The search for passages by BM25, in SQL.

Chat, pages and commands call `Bm25Retriever.search` (the interface is in `ask/passages.py`), and
`.find_rare_terms` for questions that refer to an earlier one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rookery.server.ask.passages import Asker, FoundPassage, PassageFilter, PassageKind
from rookery.server.ask.thesaurus import Alternative, Widened, weigh_equally
from rookery.server.ask.words import drop_control_characters, list_terms, make_snippet
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.table import Table

MOST_QUESTION_CHARACTERS = 4_000
"""The characters of a question that are used; the rest is ignored."""
MOST_TERMS = 64
MOST_FOUND = 50
COMMON_SHARE = 0.15
"""A term that is in a larger part of the passages is ignored if there are others."""
EARLIER_WEIGHT = 0.5
"""The weight of a word of an earlier question relative to those of the present one."""

Widen = Callable[[Sequence[str]], Widened]
"""Turns the terms of a question into the terms to search for."""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """A row of `ask_search`."""

    key: str
    place: int
    kind: str
    title: str
    text: str
    url: str
    score: float
    engine: str
    user: str
    time: datetime | None
    tc: str
    outcome: str
    elo: str
    commit: str
    statistics: list[str]
    links: list[str]

    def make_passage(self, terms: frozenset[str]) -> FoundPassage:
        """Return the passage with the asked terms marked."""
        return FoundPassage(
            id=f"{self.key}#{self.place}" if self.place else self.key,
            kind=PassageKind(self.kind),
            title=self.title,
            text=self.text,
            url=self.url,
            score=self.score,
            snippet=make_snippet(self.text, terms),
            engine=self.engine,
            user=self.user,
            time=self.time,
            tc=self.tc,
            outcome=self.outcome,
            elo=self.elo,
            commit=self.commit,
            statistics=tuple(self.statistics),
            links=tuple(self.links),
        )


class Bm25Retriever(Table):
    """Lucene's BM25 (k1 1.2, b 0.75) in one statement, which only reads the index of postings until
    the best passages are known. A passage needs only one of the terms."""

    def __init__(
        self,
        pool: Pool,
        queries: Queries,
        stop_words: frozenset[str],
        widen: Widen = weigh_equally,
        *,
        common_share: float = COMMON_SHARE,
    ) -> None:
        super().__init__(pool, queries)
        self._stop_words = stop_words
        self._widen = widen
        self._common_share = common_share

    async def search(
        self,
        question: str,
        asker: Asker,
        wanted: PassageFilter = PassageFilter(),  # noqa: B008 it is frozen
        *,
        limit: int = 10,
        extra_terms: Sequence[str] = (),
    ) -> tuple[FoundPassage, ...]:
        """Return the best passages for a question, best first."""
        widened = self._widen_question(question, extra_terms)
        if not widened.alternatives:
            return ()
        found = await self._many(
            FoundRow,
            "ask_search",
            *(list(column) for column in zip(*widened.alternatives, strict=True)),
            widened.coverage,
            widened.literal,
            self._common_share,
            list(asker.hidden),
            drop_control_characters(asker.name),
            *_filter_values(wanted, min(max(limit, 1), MOST_FOUND)),
        )
        terms = frozenset(each.term for each in widened.alternatives)
        return tuple(row.make_passage(terms) for row in found)

    def _widen_question(self, question: str, extra_terms: Sequence[str]) -> Widened:
        widened = self._widen(self._list_asked(question))
        known = {each.term for each in widened.alternatives}
        earlier = [term for word in extra_terms[:MOST_TERMS] for term in self._list_asked(word)]
        more = tuple(
            Alternative(term, -1 - place, EARLIER_WEIGHT)
            for place, term in enumerate(dict.fromkeys(earlier))
            if term not in known
        )
        return replace(widened, alternatives=(*widened.alternatives, *more))

    def _list_asked(self, question: str) -> list[str]:
        text = drop_control_characters(question[:MOST_QUESTION_CHARACTERS])
        return list_terms(text, self._stop_words)[:MOST_TERMS]

    async def find_rare_terms(self, question: str, asker: Asker, *, limit: int = 5) -> list[str]:
        """Return the most significant terms of a question, rarest first: those in the fewest
        passages that the asker may see, without those that are in none."""
        terms, name = self._list_asked(question), drop_control_characters(asker.name)
        return (await self._column("ask_frequencies_of", terms, list(asker.hidden), name))[:limit]


def _filter_values(wanted: PassageFilter, limit: int) -> tuple[object, ...]:
    texts = [
        drop_control_characters(text)
        for text in (wanted.engine, wanted.user, wanted.time_class, wanted.outcome)
    ]
    engine, user, time_class, outcome = texts
    restricted = bool(user or wanted.since or wanted.until or time_class or outcome)
    kinds = [kind.value for kind in wanted.kinds]
    times = wanted.since, wanted.until
    return (kinds, engine, user, *times, time_class, outcome, limit, restricted)
