"""What Ask's page shows: a form, questions and answers, and sources.

Quoted texts come from strangers. Filters split them into pieces, so that the template escapes each
piece, and only addresses of pages become links.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rookery.core.protocol.ask import LONGEST_QUESTION, ChatMessage
from rookery.server.ask.answers import clean_question
from rookery.server.ask.passages import PassageFilter, PassageKind
from rookery.server.ask.words import MARK, UNMARK
from rookery.server.http.scope import Form

NO_QUESTION = "Enter a question."
TOO_LONG = f"A question has {LONGEST_QUESTION:,} characters at most."
NO_DAY = "Enter a date such as 2026-03-01."
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


# What the page shows; the template splits texts by these filters.


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


def pair_turns(messages: Iterable[ChatMessage]) -> list[tuple[str, ChatMessage]]:
    """The questions of a conversation, each with its answer."""
    asked = ""
    turns = []
    for message in messages:
        if message.role == "user":
            asked = message.text
        else:
            turns.append((asked, message))
    return turns


def split_citations(answer: str) -> Iterator[tuple[str, int]]:
    """The pieces of an answer, each with the number of the source that it links to, or 0."""
    for text in _CITATION.split(answer):
        if not _CITATION.fullmatch(text):
            yield text, 0
            continue
        for number in text.strip("[]").replace(",", " ").split():
            yield f"[{number}]", int(number)


def is_followable(address: str) -> bool:
    """Whether an address is a page of this site or of the web. Other addresses in documents are not
    linked."""
    local = address.startswith("/") and not address.startswith("//")
    return local or address.startswith(("https://", "http://"))


def split_marks(snippet: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text that was found, and whether each matches the search."""
    for piece in snippet.split(MARK):
        marked, found, rest = piece.partition(UNMARK)
        if found:
            yield marked, True
        yield rest if found else marked, False


ASK_FILTERS: Mapping[str, Callable[..., object]] = {
    "citations": split_citations,
    "is_followable": is_followable,
    "marks": split_marks,
}
"""The names of these functions in templates."""


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
