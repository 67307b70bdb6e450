"""The domain's synonyms: widens the terms of a question by others with the same meaning.

A question and a commit may use different words for the same thing. Added terms weigh less than the
question's own, so that a passage with the exact words comes first.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rookery.core.errors import Complaint
from rookery.server.ask.words import list_terms, read_stop_words, read_word_lists

THESAURUS = Path(__file__).parent / "thesaurus.txt"
LONGEST_PHRASE = 4
SYNONYM_WEIGHT = 0.6
INFLECTED_WEIGHT = 0.6
COVERAGE = 0.5
"""How much it counts that a passage contains something of every concept of the question."""
LITERAL = 0.2
"""How much it counts that a passage uses the question's own words. All four values were tuned on
benchmarks/ask_tuning.txt."""
MOST_ALTERNATIVES = 600

Phrase = tuple[str, ...]


class Alternative(NamedTuple):
    """A term to search for. Terms of one concept are alternatives, of which the best match
    counts."""

    term: str
    concept: int
    weight: float
    """The weight of the term; 1 for a word of the question itself."""


@dataclass(frozen=True, slots=True)
class Widened:
    """The terms and weights that a question is searched by."""

    alternatives: tuple[Alternative, ...]
    coverage: float = 0.0
    """The exponent of the share of the concepts that a passage contains, which is a factor of its
    score."""
    literal: float = 0.0
    """The additional weight of the question's own words."""


def weigh_equally(terms: Sequence[str]) -> Widened:
    """Return the terms of a question without additions: standard BM25."""
    unique = dict.fromkeys(terms)
    return Widened(tuple(Alternative(term, place, 1.0) for place, term in enumerate(unique)))


@dataclass(frozen=True, slots=True)
class Thesaurus:
    """The synonyms of words and phrases."""

    synonyms: dict[Phrase, frozenset[Phrase]] = field(default_factory=dict)

    def widen(self, terms: Sequence[str]) -> Widened:
        """Return the terms of a question, with others of the same meaning at less weight. Each word
        is a concept, and so is each known phrase."""
        asked = weigh_equally(terms).alternatives
        added: dict[tuple[str, int], float] = {}
        for term, concept, _ in asked:
            for form in inflect(term):
                _raise(added, form, concept, INFLECTED_WEIGHT)
        concepts: dict[Phrase, int] = {(term,): concept for term, concept, _ in asked}
        for phrase in _list_phrases(terms):
            for synonym in self._find(phrase):
                concept = concepts.setdefault(phrase, len(concepts))
                for term in synonym:
                    _raise(added, term, concept, SYNONYM_WEIGHT / math.sqrt(len(synonym)))
        for term, concept, _ in asked:
            added.pop((term, concept), None)
        others = [Alternative(*place, weight) for place, weight in added.items()]
        return Widened((*asked, *others)[:MOST_ALTERNATIVES], COVERAGE, LITERAL)

    def _find(self, phrase: Phrase) -> list[Phrase]:
        """Return the synonyms of a phrase, also if its last word is inflected."""
        forms = [phrase, *((*phrase[:-1], form) for form in inflect(phrase[-1]))]
        return sorted({found for form in forms for found in self.synonyms.get(form, ())})


def _raise(weights: dict[tuple[str, int], float], term: str, concept: int, weight: float) -> None:
    weights[term, concept] = max(weight, weights.get((term, concept), 0.0))


def _list_phrases(terms: Sequence[str]) -> Iterator[Phrase]:
    """All sequences of up to four words, shortest first."""
    for length in range(1, LONGEST_PHRASE + 1):
        for first in range(len(terms) - length + 1):
            yield tuple(terms[first : first + length])


ENDINGS = ("", "s", "es", "ed", "ing", "d")
DOUBLED = "bdgmnprt"
VOWELS = "aeiou"


def inflect(word: str) -> set[str]:
    """Forms that a plain English word may have; most do not exist, which does no harm."""
    if not word.isalpha() or not word.isascii() or len(word) < 3:
        return set()
    forms: set[str] = set()
    for stem in _list_stems(word):
        forms.update(_list_forms(stem))
    return forms - {word}


def _list_stems(word: str) -> set[str]:
    """Return the possible base forms of a word."""
    stems = {word}
    for ending in ("ing", "ed", "es", "s"):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= 3 and not (ending == "s" and stem.endswith("s")):
            stems.add(stem)
            if ending in ("ing", "ed"):
                stems.add(stem + "e")
                if stem[-1] == stem[-2] and stem[-1] in DOUBLED:
                    stems.add(stem[:-1])
    if word.endswith("ies") and len(word) > 4:
        stems.add(word[:-3] + "y")
    return stems


def _list_forms(stem: str) -> Iterator[str]:
    yield from (stem, stem + "s")
    if stem.endswith("e"):
        yield from (stem + "d", stem[:-1] + "ing")
    elif stem.endswith("y") and stem[-2] not in VOWELS:
        yield from (stem[:-1] + "ies", stem[:-1] + "ied", stem + "ing")
    else:
        yield from (stem + "ed", stem + "ing", stem + "es")
        if stem[-1] in DOUBLED and stem[-2] in VOWELS:
            yield from (stem + stem[-1] + "ed", stem + stem[-1] + "ing")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The word lists of Ask: stop words and synonyms."""

    stop_words: frozenset[str]
    thesaurus: Thesaurus


def read_lexicon(extra: Path | None = None) -> Lexicon:
    """Read our lists, and additional groups from an operator's file; blocks."""
    stop_words = read_stop_words()
    lines = [*read_word_lists(THESAURUS), *(() if extra is None else _read_extra(extra))]
    return Lexicon(stop_words, make_thesaurus(lines, stop_words))


def _read_extra(path: Path) -> list[str]:
    try:
        return list(read_word_lists(path))
    except (OSError, UnicodeDecodeError) as error:
        raise Complaint(
            f"ROOKERY_ASK_THESAURUS: the file {path} cannot be read: {error}."
        ) from None


def make_thesaurus(lines: Iterable[str], stop_words: frozenset[str]) -> Thesaurus:
    """Read groups, one per line: `lmr, late move reduction` or `castle > rook`."""
    synonyms: defaultdict[Phrase, set[Phrase]] = defaultdict(set)
    for line in lines:
        left, directed, right = line.partition(">")
        asked = _read_phrases(left, stop_words)
        meant = _read_phrases(right, stop_words) if directed else asked
        for phrase in asked:
            synonyms[phrase] |= meant - {phrase}
    return Thesaurus({phrase: frozenset(others) for phrase, others in synonyms.items()})


def _read_phrases(text: str, stop_words: frozenset[str]) -> set[Phrase]:
    phrases = {tuple(dict.fromkeys(list_terms(part, stop_words))) for part in text.split(",")}
    return phrases - {()}
