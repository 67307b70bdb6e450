"""Answers without a model: the best sentence of each good passage, with its number.

Nothing is made up: every sentence is quoted from a passage. The measurements of cited runs are
listed below, from their fields.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rookery.core.http_client import HeldCall
from rookery.server.ask.answering.grounds import Grounds
from rookery.server.ask.passages import FoundPassage, PassageKind
from rookery.server.ask.words import list_terms

MOST_CITED = 5
LEAST_SHARE = 0.5
"""The least score, as a part of the best one, at which a passage is quoted; others are only listed
as sources."""
LONGEST_SENTENCE = 320
MOST_SENTENCES = 60
USUAL_TERMS = 12
TITLE_BONUS = 1.2
LEAST_WEIGHT = 0.1
UNTOLD = ("bench",)
"""Lines of statistics that say nothing about the result of a test."""
NOTHING = "Nothing was found for this. Other words may help, or fewer filters."
NOUNS = {
    PassageKind.RUN: ("run", "runs"),
    PassageKind.COMMIT: ("commit", "commits"),
    PassageKind.ACTION: ("action", "actions"),
    PassageKind.DOC: ("page of the docs", "pages of the docs"),
    PassageKind.UPLOAD: ("uploaded text", "uploaded texts"),
}
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_BULLETS = ("-", "*", "•")
_MARKUP = ("|", "```", "#")
"""The beginnings of Markdown lines that are no sentences: tables, code and headings."""


Numbered = tuple[int, FoundPassage]
"""A passage with its number among the sources, from 1 on."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage with its terms."""

    text: str
    terms: frozenset[str]
    title: bool = False


class ExtractiveAnswerer:
    """Answers by quoting passages, without a model."""

    name = "extractive"
    asks_model = False
    works = True

    def __init__(self, stop_words: frozenset[str]) -> None:
        self._stop_words = stop_words

    def write(self, grounds: Grounds, held: HeldCall) -> Iterator[str]:
        del held
        if grounds.note:
            yield f"{grounds.note}\n\n"
        if not grounds.passages:
            yield NOTHING
            return
        # In two pieces only, because each costs a turn of the loop and all of them are available at
        # once.
        cited = _list_good(grounds.passages)
        chosen = zip(self._choose(grounds.question, cited), cited, strict=True)
        quoted = [f"\n• {_quote(best, passage)} [{n}]" for best, (n, passage) in chosen]
        yield f"{_count_kinds(grounds.passages)}\n{''.join(quoted)}"
        if told := "".join(_tell_numbers(cited)):
            yield told

    def _choose(self, question: str, passages: Sequence[Numbered]) -> list[Sentence]:
        """Return the best sentence of each passage."""
        asked = self._list_terms(question)
        groups = [self._list_sentences(passage) for _, passage in passages]
        weights = _weigh_terms(asked, groups)
        return [max(group, key=lambda each: _rate(each, weights)) for group in groups]

    def _list_sentences(self, passage: FoundPassage) -> list[Sentence]:
        texts = list(split_sentences(passage.text))[:MOST_SENTENCES]
        title = Sentence(passage.title, self._list_terms(passage.title), title=True)
        return [title, *(Sentence(text, self._list_terms(text)) for text in texts)]

    def _list_terms(self, text: str) -> frozenset[str]:
        return frozenset(list_terms(text, self._stop_words))


def split_sentences(text: str) -> Iterator[str]:
    """Split a text into sentences. Lines of a paragraph are joined, unless they begin with a
    bullet."""
    for paragraph in text.split("\n\n"):
        held: list[str] = []
        for line in paragraph.split("\n"):
            if line.lstrip().startswith(_MARKUP):
                continue
            if line.lstrip().startswith(_BULLETS) and held:
                yield from _end_sentences(held)
                held = []
            held.append(line.strip(" \t-*•"))
        yield from _end_sentences(held)


def _end_sentences(lines: Sequence[str]) -> Iterator[str]:
    yield from filter(None, _SENTENCE_END.split(" ".join(lines).strip()))


def _weigh_terms(asked: frozenset[str], passages: Sequence[Sequence[Sentence]]) -> dict[str, float]:
    """Return the weights of the question's terms: a word that is in few of the passages weighs
    more, and one that is in all hardly counts."""
    terms = [frozenset[str]().union(*(each.terms for each in group)) for group in passages]
    found = Counter(term for each in terms for term in each & asked)
    return {term: LEAST_WEIGHT + math.log(len(terms) / n) for term, n in found.items()}


def _rate(sentence: Sentence, weights: dict[str, float]) -> float:
    """Return the rating of a sentence by its terms; long sentences are rated lower, since they
    contain more terms by chance, and titles higher, since they summarise."""
    said = sum(weights.get(term, 0.0) for term in sentence.terms)
    length = 1 + max(0, len(sentence.terms) - USUAL_TERMS) / 40
    return said / length * (TITLE_BONUS if sentence.title else 1.0)


def _list_good(passages: Sequence[FoundPassage]) -> list[Numbered]:
    """Return the passages to quote, with their numbers; of several with the same address only the
    best."""
    good: list[Numbered] = []
    told: set[str] = set()
    for number, passage in enumerate(passages, 1):
        near = passage.score >= LEAST_SHARE * passages[0].score
        if near and passage.url not in told and len(good) < MOST_CITED:
            good.append((number, passage))
            told.add(passage.url)
    return good


def _count_kinds(passages: Sequence[FoundPassage]) -> str:
    """Return an introduction such as "2 runs and 1 commit match; the best say:"."""
    kinds = Counter(passage.kind for passage in passages)
    words = [f"{count} {NOUNS[kind][count > 1]}" for kind, count in kinds.most_common()]
    listed = f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]
    if len(passages) == 1:
        return f"{listed} matches:"
    return f"{listed} match; the best say:"


def _quote(sentence: Sentence, passage: FoundPassage) -> str:
    title = _make_plain(passage.title).rstrip(".")
    same = sentence.title or _make_plain(sentence.text).rstrip(".") in title
    text = title if same else f"{title}: {_make_plain(sentence.text)}"
    return text if len(text) <= LONGEST_SENTENCE else text[: LONGEST_SENTENCE - 1].rstrip() + "…"


def _make_plain(text: str) -> str:
    """Return a quoted text without brackets, which would look like our citations."""
    return " ".join(text.replace("[", "(").replace("]", ")").split())


def _tell_numbers(passages: Sequence[Numbered]) -> Iterator[str]:
    told = [
        f"\n• {_make_plain(words)} [{number}]"
        for number, passage in passages
        if passage.kind is PassageKind.RUN and (words := describe_run(passage))
    ]
    if told:
        yield "\n\nWhat was measured:"
        yield from told


def describe_run(passage: FoundPassage) -> str:
    """Return the verdict, Elo, time control and statistics of a run, as far as they are known."""
    elo = f"Elo {passage.elo}" if passage.elo and "elo" not in passage.elo.lower() else passage.elo
    told = [line for line in passage.statistics if not line.lower().startswith(UNTOLD)]
    parts = [passage.outcome, elo, f"at {passage.tc}" if passage.tc else "", *told]
    return ", ".join(part for part in parts if part)
