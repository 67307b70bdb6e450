"""Cuts text into passages and words, for the index and for questions alike.

A term is a lower-case word of letters, digits and `_`. A name such as `futilityMargin` or
`reduction_table` gives its parts in addition to itself. Stop words are not terms.

Texts are untrusted: every pattern here takes linear time.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STOP_WORDS = Path(__file__).parent / "stop_words.txt"
LONGEST_TERM = 64
"""The longest word that is indexed; longer ones are noise, such as a line of an encoded file."""
PASSAGE_WORDS = 200
LONGEST_PASSAGE = 300
LONGEST_LINE = 1_200
TITLE_WEIGHT = 3
MARK, UNMARK = "\ue000", "\ue001"
"""The marks around matched words in a snippet; they are removed from all texts."""

WORD = re.compile(r"\w+")
CASE_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
BLANK_LINE = re.compile(r"\n[ \t]*\n")
LINK = re.compile(r"https?://[^\s<>()\[\]\"']+")
STATISTICS = re.compile(
    r"(?:llr|elo|nelo|sprt|los|total|games|penta|ptnml\(0-2\)|ptnml|wdl|bench)[ \t]*[:|=]"
    r"|bench[ \t]+\d|(?:no|non)[ -]functional change",
    re.IGNORECASE,
)
LINK_WORDS = frozenset(("close", "closes", "closed", "fix", "fixes", "fixed", "see", "also", "pr"))
# All control characters except tab and line feed, and the two marks of snippets.
UNPRINTED = dict.fromkeys([*range(9), *range(11, 32), 127, ord(MARK), ord(UNMARK)], " ")


def read_word_lists(path: Path) -> Iterator[str]:
    """Yield the lines of a word list, without comments and empty ones; blocks."""
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.partition("#")[0].strip()
        if words:
            yield words


def read_stop_words(path: Path = STOP_WORDS) -> frozenset[str]:
    """Read our list of stop words; blocks."""
    return frozenset(word for line in read_word_lists(path) for word in line.split())


def split_word(word: str) -> list[str]:
    """Return the terms of one word as written: itself, and its parts if it has several."""
    whole = word.lower()
    if "_" not in word and (whole == word or word[1:] == whole[1:]):
        return [whole]
    parts = [part.lower() for piece in word.split("_") for part in CASE_BORDER.split(piece)]
    parts = [part for part in parts if len(part) > 1 and part != whole]
    return [whole, *parts]


def list_terms(text: str, stop_words: frozenset[str]) -> list[str]:
    """All terms of a text, in order and with repetitions."""
    return [
        term
        for word in WORD.findall(text)
        if len(word) <= LONGEST_TERM
        for term in split_word(word)
        if term not in stop_words
    ]


def count_terms(title: str, text: str, stop_words: frozenset[str]) -> Counter[str]:
    """Return the number of occurrences of each term in a passage; a word of the title counts three
    times."""
    counts = Counter(list_terms(text, stop_words))
    for term in list_terms(title, stop_words):
        counts[term] += TITLE_WEIGHT
    return counts


@dataclass(frozen=True, slots=True)
class CleanText:
    """A text without its statistics lines and links, which are stored separately."""

    text: str
    statistics: tuple[str, ...]
    links: tuple[str, ...]


def clean_text(raw: str) -> CleanText:
    """Remove statistics lines and links from a text, so that only prose remains."""
    lines: list[str] = []
    statistics: list[str] = []
    links: list[str] = []
    for line in drop_control_characters(raw).split("\n"):
        links += LINK.findall(line)
        words = LINK.sub("", line).rstrip()
        if STATISTICS.match(words.lstrip()):
            statistics.append(words.strip())
        elif words == line.rstrip() or not _only_points_elsewhere(words):
            lines.append(words)
    return CleanText("\n".join(lines).strip(), tuple(statistics), tuple(dict.fromkeys(links)))


def drop_control_characters(text: str) -> str:
    """Return a text that can be stored and shown: without control characters and lone
    surrogates."""
    plain = text.replace("\r\n", "\n").translate(UNPRINTED)
    return plain if plain.isascii() else plain.encode("utf-8", "replace").decode()


def _only_points_elsewhere(words: str) -> bool:
    """Whether a line without its link contains nothing but words such as `closes`."""
    return all(word.lower() in LINK_WORDS for word in WORD.findall(words))


def cut_passages(text: str) -> list[str]:
    """Passages of about 200 words that end with a paragraph; an empty text gives one empty
    passage."""
    passages: list[str] = []
    held: list[str] = []
    size = 0
    for piece in _list_pieces(text):
        words = count_words(piece)
        if held and size + words > PASSAGE_WORDS * 5 // 4:
            passages.append("\n\n".join(held))
            held, size = [], 0
        held.append(piece)
        size += words
    return [*passages, "\n\n".join(held)]


def count_words(text: str) -> int:
    """Return the number of words; a long sequence of other characters counts as several."""
    return max(len(WORD.findall(text)), len(text) // 20)


def _list_pieces(text: str) -> Iterator[str]:
    """Yield the paragraphs; long ones are split into several pieces."""
    for paragraph in BLANK_LINE.split(text):
        if count_words(paragraph) > LONGEST_PASSAGE:
            yield from _split_long(paragraph)
        elif paragraph.strip():
            yield paragraph.strip("\n")


def _split_long(paragraph: str) -> Iterator[str]:
    """Split a paragraph into pieces at the ends of lines."""
    held: list[str] = []
    size = 0
    for line in paragraph.split("\n"):
        for part in _split_line(line):
            words = count_words(part)
            if held and size + words > PASSAGE_WORDS:
                yield "\n".join(held)
                held, size = [], 0
            held.append(part)
            size += words
    yield "\n".join(held)


def _split_line(line: str) -> Iterator[str]:
    """Split a very long line after a word, or anywhere if there is no space."""
    first = 0
    while len(line) - first > LONGEST_LINE:
        end = line.rfind(" ", first + 1, first + LONGEST_LINE)
        end = first + LONGEST_LINE if end < 0 else end
        yield line[first:end]
        first = end
    yield line[first:]


SNIPPET_WORDS = 40
LEAD = 6


def make_snippet(text: str, terms: frozenset[str]) -> str:
    """Return the part of a text with the most different terms, with the matched words marked."""
    words = list(WORD.finditer(text))
    hits = {place: hit for place, word in enumerate(words) if (hit := _match(word[0], terms))}
    first = _find_densest(hits)
    last = min(first + SNIPPET_WORDS, len(words))
    pieces: list[str] = []
    at = words[first].start() if first else 0
    for place in range(first, last):
        if place in hits:
            begin, end = words[place].span()
            pieces += (text[at:begin], MARK, text[begin:end], UNMARK)
            at = end
    pieces.append(text[at : words[last].start() if last < len(words) else len(text)])
    head, tail = "… " if first else "", " …" if last < len(words) else ""
    return head + " ".join("".join(pieces).split()) + tail


def _match(word: str, terms: frozenset[str]) -> str:
    """Return the term that a word matches; empty if none."""
    whole = word.lower()
    if whole in terms:
        return whole
    if whole == word and "_" not in word:
        return ""
    return next((term for term in split_word(word) if term in terms), "")


def _find_densest(hits: dict[int, str]) -> int:
    """Return the beginning of the 40 words with the most different terms, including a few words
    before the first."""
    held: Counter[str] = Counter()
    waiting = deque(hits.items())
    best, most = 0, 0
    for place, hit in hits.items():
        held[hit] += 1
        while place - waiting[0][0] >= SNIPPET_WORDS - LEAD:
            _, gone = waiting.popleft()
            held[gone] -= 1
            if not held[gone]:
                del held[gone]
        if len(held) > most:
            best, most = waiting[0][0], len(held)
    return max(0, best - LEAD)
