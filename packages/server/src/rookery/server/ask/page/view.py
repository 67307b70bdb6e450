"""The view of Ask's page: a form, questions and answers, and sources, all as text.

Quoted texts come from strangers. They are split into pieces here, so that the template escapes each
piece, and only addresses of pages become links.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from rookery.core.protocol.ask import LONGEST_QUESTION, LONGEST_TITLE, ChatMessage, ChatSession
from rookery.server.ask.answers import clean_question
from rookery.server.ask.passages import FoundPassage, PassageFilter, PassageKind
from rookery.server.ask.words import MARK, UNMARK
from rookery.server.http.pages.formatting import Moment, format_ago
from rookery.server.http.scope import Form

NO_QUESTION = "Enter a question."
TOO_LONG = f"A question has {LONGEST_QUESTION:,} characters at most."
NO_DAY = "Enter a date such as 2026-03-01."
TONES = {"passed": "green", "failed": "red", "positive": "yellow", "stopped": ""}
TIME_CLASSES = (("", "Any"), ("stc", "STC"), ("ltc", "LTC"), ("vltc", "VLTC"))
OUTCOMES = (
    ("", "Any"),
    ("passed", "Passed"),
    ("failed", "Failed"),
    ("positive", "Positive"),
    ("stopped", "Stopped"),
)
KINDS = (
    ("", "Everything"),
    ("run", "Tests"),
    ("commit", "Commits"),
    ("action", "Log"),
    ("doc", "Docs"),
    ("upload", "Uploads"),
)
EXAMPLES = (
    "Has anybody tried a bigger razoring margin at long time control?",
    "Which null move patches failed?",
    "What was tested about time management this year?",
)
_CITATION = re.compile(r"(\[[0-9, ]{1,22}\])")
FIELDS = ("engine", "user", "since", "until", "time_class", "outcome", "kind")


# What the page shows.


@dataclass(frozen=True, slots=True)
class TextPart:
    """A piece of text. A piece with a number links to that source; a marked one matches the
    search."""

    text: str
    number: int = 0
    marked: bool = False


@dataclass(frozen=True, slots=True)
class SourceView:
    """A source with its number, counted from 1. `address` is empty if there is no page to link
    to."""

    number: int
    passage: FoundPassage
    address: str
    snippet: tuple[TextPart, ...]
    tone: str
    at: Moment | None


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer."""

    question: str
    answer: tuple[TextPart, ...]
    sources: tuple[SourceView, ...]


@dataclass(frozen=True, slots=True)
class AskForm:
    """The form with what was typed, and its errors by field."""

    question: str = ""
    session: str = ""
    texts: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)

    @property
    def filtered(self) -> bool:
        return any(self.texts.values())


@dataclass(frozen=True, slots=True)
class AskView:
    """The whole page."""

    csrf: str
    form: AskForm
    turns: tuple[Turn, ...] = ()
    sessions: tuple[ChatSession, ...] = ()
    session: ChatSession | None = None
    engines: tuple[str, ...] = ()
    problem: str = ""
    archived: bool = False
    asks_model: bool = False
    longest_question: int = LONGEST_QUESTION
    longest_title: int = LONGEST_TITLE
    time_classes: Sequence[tuple[str, str]] = TIME_CLASSES
    outcomes: Sequence[tuple[str, str]] = OUTCOMES
    kinds: Sequence[tuple[str, str]] = KINDS
    examples: Sequence[str] = EXAMPLES


@dataclass(frozen=True, slots=True)
class AskData:
    """The data loaded on the loop. A thread makes the view from it."""

    view: AskView
    messages: Sequence[ChatMessage]
    now: datetime


def make_ask_view(data: AskData) -> AskView:
    asked = ""
    turns: list[Turn] = []
    for message in data.messages:
        if message.role == "user":
            asked = message.text
        else:
            turns.append(make_turn(asked, message.text, message.sources, data.now))
    return replace(data.view, turns=tuple(turns))


def make_turn(question: str, answer: str, sources: Sequence[FoundPassage], now: datetime) -> Turn:
    shown = tuple(make_source(*each, now) for each in enumerate(sources, 1))
    return Turn(question, split_citations(answer), shown)


def split_citations(answer: str) -> tuple[TextPart, ...]:
    """Split an answer into texts and citation numbers, which link to their sources."""
    parts: list[TextPart] = []
    for text in _CITATION.split(answer):
        if not _CITATION.fullmatch(text):
            parts += [TextPart(text)] if text else []
            continue
        numbers = text.strip("[]").replace(",", " ").split()
        parts += [TextPart(f"[{number}]", int(number)) for number in numbers]
    return tuple(parts)


def make_source(number: int, passage: FoundPassage, now: datetime) -> SourceView:
    return SourceView(
        number,
        passage,
        passage.url if is_followable(passage.url) else "",
        split_marks(passage.snippet),
        TONES.get(passage.outcome, ""),
        format_ago(passage.time, now) if passage.time else None,
    )


def is_followable(address: str) -> bool:
    """Whether an address is a page of this site or of the web. Other addresses in documents are not
    linked."""
    local = address.startswith("/") and not address.startswith("//")
    return local or address.startswith(("https://", "http://"))


def split_marks(snippet: str) -> tuple[TextPart, ...]:
    parts: list[TextPart] = []
    for piece in snippet.split(MARK):
        marked, found, rest = piece.partition(UNMARK)
        if found:
            parts.append(TextPart(marked, marked=True))
        plain = rest if found else marked
        parts += [TextPart(plain)] if plain else []
    return tuple(parts)


# Reads the form.


def read_form(form: Form) -> AskForm:
    """The form with the texts as they were typed, and its errors."""
    question = form.text("question").strip()
    errors = {}
    if not clean_question(question):
        errors["question"] = NO_QUESTION
    elif len(question) > LONGEST_QUESTION:
        errors["question"] = TOO_LONG
    texts = {name: form.text(name).strip()[:100] for name in FIELDS}
    for name in ("since", "until"):
        if texts[name] and read_day(texts[name]) is None:
            errors[name] = NO_DAY
    return AskForm(question[: 2 * LONGEST_QUESTION], form.text("session"), texts, errors)


def read_day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def make_filter(texts: Mapping[str, str]) -> PassageFilter:
    """The filter of a search. A word that is not a valid choice restricts nothing; `until` includes
    that day."""
    until = read_day(texts["until"])
    kinds = [kind for kind in PassageKind if kind == texts["kind"]]
    return PassageFilter(
        engine=texts["engine"],
        user=texts["user"],
        since=read_day(texts["since"]),
        until=until + timedelta(days=1) if until else None,
        time_class=_one_of(TIME_CLASSES, texts["time_class"]),
        outcome=_one_of(OUTCOMES, texts["outcome"]),
        kinds=tuple(kinds),
    )


def _one_of(choices: Sequence[tuple[str, str]], text: str) -> str:
    return text if text in dict(choices) else ""
