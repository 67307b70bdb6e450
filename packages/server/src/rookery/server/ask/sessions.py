"""Conversations with Ask: stored per user, visible to nobody else, and removed after a while.

    begun without a title --> temporary --(given a title)--> lasting
    temporary: swept a day after its last use
    lasting:   swept some days after its last use, where the site says so

A question and its answer are written in one transaction after the answer is complete, so an
interrupted answer leaves nothing behind. Other people's conversations are treated as nonexistent.
"""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

import msgspec

from rookery.core.clock import Clock
from rookery.core.errors import Complaint, NotNow, NotThere, message_in_docstring
from rookery.core.protocol.ask import LONGEST_TITLE, ChatMessage, ChatSession
from rookery.server.ask.passages import Asker, FoundPassage
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.pool import clean
from rookery.server.db.table import Table, Transaction

ID_BYTES = 16
TITLE_LENGTH = 70
SWEPT_AT_ONCE = 500
MESSAGES_KEPT = 200
TEMPORARY_KEPT = timedelta(days=1)
USES_KEPT = timedelta(days=7)
WITHHELD = "This answer was about an engine that you may no longer see."


class UnknownSession(NotThere, Complaint):
    """You have no such conversation."""

    def __init__(self) -> None:
        super().__init__(message_in_docstring(type(self)))


class TooManySessions(NotNow, Complaint):
    """A user keeps as many conversations as the site allows."""

    def __init__(self, most: int) -> None:
        super().__init__(f"You keep {most} conversations, which is the most; delete one first.")


class ChatRows(Table):
    """The rows of conversations and messages. Each call names the user that they must belong to."""

    async def of(self, user: str, *, archived: bool | None = False) -> tuple[ChatSession, ...]:
        """Return a user's conversations, last used first; with `archived` None, archived ones
        too."""
        return await self._many(ChatSession, "chats_of", user, archived)

    async def get(self, session: str, user: str) -> ChatSession | None:
        return await self._one(ChatSession, "chats_get", session, user)

    async def add(self, session: ChatSession, user: str, most: int) -> bool:
        """Add a conversation if there is room, for which the least recently used temporary ones are
        removed; return whether there was."""
        async with self._writing() as write:
            return await _begin(write, session, user, most)

    async def change(
        self, session: str, user: str, title: str | None, archived: bool | None
    ) -> bool:
        found = None if title is None else clean(title)
        return await self._write("chats_change", session, user, found, archived) is not None

    async def touch(self, session: str, user: str, now: datetime) -> bool:
        return await self._write("chats_touch", session, user, now) is not None

    async def remove(self, session: str, user: str) -> bool:
        return await self._write("chats_remove", session, user) is not None

    async def messages(self, session: str, most: int) -> tuple[ChatMessage, ...]:
        """Return the last messages, oldest first."""
        return await self._many(_decode_message, "chat_messages_of", session, most)

    async def remember(
        self,
        session: ChatSession,
        user: str,
        messages: Sequence[ChatMessage],
        *,
        most_sessions: int,
        most_messages: int,
    ) -> bool:
        """Store messages and update their conversation, which is created if `most_sessions` is not
        0; False if it no longer exists or there is no room."""
        async with self._writing() as write:
            if most_sessions:
                found = await _begin(write, session, user, most_sessions)
            else:
                found = await write("chats_touch", session.id, user, session.touched) is not None
            if not found:
                return False
            await write(
                "chat_messages_add",
                session.id,
                [each.role for each in messages],
                [clean(each.text) for each in messages],
                [each.at for each in messages],
                [msgspec.json.encode(each.sources).decode() for each in messages],
                most_messages,
            )
        return True

    async def clear(self, session: str, user: str, now: datetime) -> bool:
        """Remove the messages; the conversation remains."""
        async with self._writing() as write:
            if await write("chats_touch", session, user, now) is None:
                return False
            await write("chat_messages_clear", session)
        return True

    async def sweep(self, temporary: datetime, lasting: datetime | None, limit: int) -> int:
        """Remove conversations that were last used before these times; return how many."""
        async with self._writing() as write:
            return len(await write.column("chats_sweep", temporary, lasting, limit))

    async def count_use(self, user: str, day: date, most: int) -> bool:
        """Count a question to a model; False if the day's quota is used up."""
        return await self._write("model_uses_count", user, day, most) is not None

    async def forget_uses(self, before: date) -> None:
        await self._write("model_uses_sweep", before)


async def _begin(write: Transaction, session: ChatSession, user: str, most: int) -> bool:
    """Create a conversation if there is room. Several at once may use the same room: then there are
    a few too many for a while."""
    row = (session.id, user, clean(session.title), session.created, session.temporary, most)
    if await write("chats_add", *row) is not None:
        return True
    await write("chats_make_room", user, most)
    return await write("chats_add", *row) is not None


def _decode_message(sources: str, **row: Any) -> ChatMessage:
    decoded = msgspec.json.decode(sources, type=tuple[FoundPassage, ...])
    return ChatMessage(sources=decoded, **row)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLimits:
    """How much is stored and for how long; None means for ever, and a quota of 0 means no limit."""

    sessions: int = 100
    lasting: timedelta | None = timedelta(days=365)
    model_questions: int = 100


class ChatSessions:
    """The conversations of a site."""

    def __init__(
        self,
        rows: ChatRows,
        clock: Clock,
        limits: ChatLimits,
        chance: Callable[[int], str] = secrets.token_hex,
    ) -> None:
        self._rows = rows
        self._clock = clock
        self._limits = limits
        self._chance = chance

    def draft(self, title: str, *, temporary: bool) -> ChatSession:
        """Return a conversation that is stored with its first messages."""
        now, words = self._clock.now(), " ".join(title.split())
        short = words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
        return ChatSession(
            id=self._chance(ID_BYTES),
            title=short or "New conversation",
            created=now,
            touched=now,
            archived=False,
            temporary=temporary,
            messages=0,
        )

    async def create(self, user: str, title: str, *, temporary: bool) -> ChatSession:
        """Create a conversation; raise TooManySessions."""
        made = self.draft(title, temporary=temporary)
        if not await self._rows.add(made, user, self._limits.sessions):
            raise TooManySessions(self._limits.sessions)
        return made

    async def of(self, user: str, *, archived: bool | None = False) -> tuple[ChatSession, ...]:
        """Return a user's conversations, last used first; with `archived` None, archived ones
        too."""
        return await self._rows.of(user, archived=archived)

    async def get(self, session: str, user: str) -> ChatSession:
        """Return a conversation; raise UnknownSession."""
        found = await self._rows.get(session, user)
        if found is None:
            raise UnknownSession
        return found

    async def history(
        self, session: str, asker: Asker, most: int | None = None
    ) -> tuple[ChatSession, tuple[ChatMessage, ...]]:
        """Return a conversation and its last messages, without those about engines that have become
        private; raise UnknownSession."""
        found = await self.get(session, asker.name)
        messages = await self._rows.messages(session, most or MESSAGES_KEPT)
        return found, tuple(_shown(each, asker.hidden) for each in messages)

    async def change(
        self, session: str, user: str, *, title: str | None = None, archived: bool | None = None
    ) -> ChatSession:
        """Change the title of a conversation, or archive it; raise UnknownSession."""
        short = None if title is None else title.strip()[:LONGEST_TITLE] or None
        _require(await self._rows.change(session, user, short, archived))
        return await self.get(session, user)

    async def touch(self, session: str, user: str) -> ChatSession:
        """Note that a conversation is used; raise UnknownSession."""
        _require(await self._rows.touch(session, user, self._clock.now()))
        return await self.get(session, user)

    async def delete(self, session: str, user: str) -> None:
        """Delete a conversation; raise UnknownSession."""
        _require(await self._rows.remove(session, user))

    async def clear(self, session: str, user: str) -> ChatSession:
        """Remove the messages of a conversation; raise UnknownSession."""
        _require(await self._rows.clear(session, user, self._clock.now()))
        return await self.get(session, user)

    async def remember(
        self,
        session: ChatSession,
        user: str,
        question: str,
        answer: str,
        sources: Sequence[FoundPassage],
        *,
        begin: bool,
    ) -> bool:
        """Store a question and its answer, and create the conversation if it is a draft; False if
        it was deleted in the meantime, or there is no room for a new one."""
        now = self._clock.now()
        bare = tuple(msgspec.structs.replace(each, text="", snippet="") for each in sources)
        return await self._rows.remember(
            msgspec.structs.replace(session, touched=now),
            user,
            (
                ChatMessage(role="user", text=question, at=now),
                ChatMessage(role="assistant", text=answer, at=now, sources=bare),
            ),
            most_sessions=self._limits.sessions if begin else 0,
            most_messages=MESSAGES_KEPT,
        )

    async def take_model_question(self, user: str) -> bool:
        """Use up one question to a model of the user's daily quota; False if there is none left."""
        most = self._limits.model_questions
        return not most or await self._rows.count_use(user, self._clock.now().date(), most)

    @runs(Domain.LOOP, "awaits deletions of a few hundred rows each")
    async def sweep(self) -> None:
        """Remove conversations that were not used for long enough, and old days of the quota."""
        now, limits = self._clock.now(), self._limits
        lasting = None if limits.lasting is None else now - limits.lasting
        while await self._rows.sweep(now - TEMPORARY_KEPT, lasting, SWEPT_AT_ONCE):
            pass
        await self._rows.forget_uses((now - USES_KEPT).date())


def _require(found: bool) -> None:
    if not found:
        raise UnknownSession


def _shown(message: ChatMessage, hidden: frozenset[str]) -> ChatMessage:
    if not any(source.engine in hidden for source in message.sources):
        return message
    return msgspec.structs.replace(message, text=WITHHELD, sources=())
