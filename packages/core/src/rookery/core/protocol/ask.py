"""Questions, answers, sources and conversations of Ask in the JSON API."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

LONGEST_QUESTION = 2000
LONGEST_TITLE = 120
FilterName = Annotated[str, Meta(max_length=100)]


class PassageKind(StrEnum):
    """Where a passage comes from."""

    RUN = "run"
    COMMIT = "commit"
    ACTION = "action"
    DOC = "doc"
    UPLOAD = "upload"


class PassageFilter(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a question is restricted to; an empty field restricts nothing."""

    engine: FilterName = ""
    user: FilterName = ""
    since: datetime | None = None
    until: datetime | None = None
    time_class: Annotated[str, Meta(pattern=r"^(stc|ltc|vltc)?\Z")] = ""
    """The time class, with the names used by lists of runs."""
    outcome: Annotated[str, Meta(pattern=r"^(passed|failed|positive|stopped)?\Z")] = ""
    kinds: Annotated[tuple[PassageKind, ...], Meta(max_length=5)] = ()


class FoundPassage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A passage that matches a question, as answers and APIs show it."""

    id: str
    kind: PassageKind
    title: str
    text: str
    url: str
    score: float
    snippet: str = ""
    """A part of the text with the matched words between U+E000 and U+E001, to be escaped first."""
    engine: str = ""
    user: str = ""
    time: datetime | None = None
    tc: str = ""
    outcome: str = ""
    elo: str = ""
    """Elo and its error in words, for runs that have played."""
    commit: str = ""
    """The hash of a commit, or of a run's new side."""
    statistics: tuple[str, ...] = ()
    """Lines of statistics in the document, such as `LLR: 2.95 (-2.94,2.94)`."""
    links: tuple[str, ...] = ()
    """Links in the document."""


SessionId = Annotated[str, Meta(pattern=r"^([0-9a-f]{32})?\Z")]
QuestionText = Annotated[str, Meta(min_length=1, max_length=LONGEST_QUESTION)]
Title = Annotated[str, Meta(min_length=1, max_length=LONGEST_TITLE)]


class AskQuery(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question. Without `session_id` it begins a conversation, which is removed after a day
    unless `temporary` is false; visitors have none."""

    query: QuestionText
    session_id: SessionId = ""
    filters: PassageFilter = PassageFilter()
    temporary: bool = True


class SourceList(Struct, frozen=True, kw_only=True):
    """Passages without an answer, the best first."""

    sources: tuple[FoundPassage, ...]


class TokenEvent(Struct, frozen=True, kw_only=True):
    """The next piece of an answer."""

    text: str


class DoneEvent(Struct, frozen=True, kw_only=True):
    """The answer is whole and, in a conversation, remembered."""

    session_id: str


AskEvent = SourceList | TokenEvent | DoneEvent
"""The events of a streamed answer: sources, pieces, the end."""


class ErrorEvent(Struct, frozen=True, kw_only=True):
    """Why there is no complete answer; nothing of it is stored."""

    error: str


class AskAnswer(Struct, frozen=True, kw_only=True):
    """An answer with the passages that its numbers in brackets stand for, the best first."""

    answer: str = ""
    session_id: str = ""
    sources: tuple[FoundPassage, ...] = ()

    def with_event(self, event: AskEvent) -> "AskAnswer":
        """Return the answer after one more event."""
        if isinstance(event, TokenEvent):
            return replace(self, answer=self.answer + event.text)
        if isinstance(event, SourceList):
            return replace(self, sources=event.sources)
        return replace(self, session_id=event.session_id)


class ChatMessage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation; an answer names its sources without their text."""

    role: Literal["user", "assistant"]
    text: str
    at: datetime
    sources: tuple[FoundPassage, ...] = ()


class ChatSession(Struct, frozen=True, kw_only=True):
    """A conversation, which belongs to one user alone."""

    id: str
    title: str
    created: datetime
    touched: datetime
    """When it was last used."""
    archived: bool
    temporary: bool
    """Whether it is swept soon after its last use."""
    messages: int


class ChatHistory(Struct, frozen=True, kw_only=True):
    """A conversation with its messages, oldest first."""

    session: ChatSession
    messages: tuple[ChatMessage, ...]


class ChatSessionList(Struct, frozen=True, kw_only=True):
    """One's own conversations, the last used first."""

    sessions: tuple[ChatSession, ...]


class NewChatSession(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conversation to be begun."""

    title: Title = "New conversation"
    temporary: bool = False


class ChatSessionChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change about a conversation. One that is given a title is no longer temporary."""

    title: Title | UnsetType = UNSET
    archived: bool | UnsetType = UNSET


class ChatClear(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The conversation whose messages are to be removed."""

    session_id: Annotated[str, Meta(pattern=r"^[0-9a-f]{32}\Z")]


class AskDocument(Struct, frozen=True, kw_only=True):
    """A text that somebody uploaded for questions. `status` is `waiting` until it was read, `read`
    until questions find it, then `indexed`; or `refused`, for the reason in `problem`."""

    id: str
    name: str
    user: str
    size: int
    sha256: str
    format: str
    shared: bool
    """Whether everybody may find it, or its uploader alone."""
    created: datetime
    status: str
    problem: str


class AskDocumentList(Struct, frozen=True, kw_only=True):
    """Documents, newest first."""

    documents: tuple[AskDocument, ...]


class AskDocumentChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to change about a document."""

    shared: bool
