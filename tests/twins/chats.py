"""Conversations with Ask in memory."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime

from msgspec.structs import replace

from rookery.core.protocol.ask import ChatMessage, ChatSession
from rookery.server.ask.sessions import ChatRows


class MemoryChats(ChatRows):
    def __init__(self) -> None:
        self._sessions: dict[str, tuple[str, ChatSession]] = {}
        self._messages: dict[str, tuple[ChatMessage, ...]] = {}
        self._uses: Counter[tuple[str, date]] = Counter()

    async def of(self, user: str, *, archived: bool | None = False) -> tuple[ChatSession, ...]:
        found = [
            self._counted(session)
            for owner, session in self._sessions.values()
            if owner == user and archived in (None, session.archived)
        ]
        return tuple(sorted(found, key=lambda each: (-each.touched.timestamp(), each.id)))

    async def get(self, session: str, user: str) -> ChatSession | None:
        owner, found = self._sessions.get(session, ("", None))
        return self._counted(found) if found is not None and owner == user else None

    async def add(self, session: ChatSession, user: str, most: int) -> bool:
        own = [each for owner, each in self._sessions.values() if owner == user]
        used = sorted((each for each in own if each.temporary), key=lambda each: each.touched)
        for old in used[: max(0, len(own) - most + 1)]:
            self._drop(old.id)
        if sum(owner == user for owner, _ in self._sessions.values()) >= most:
            return False
        self._sessions[session.id] = (user, session)
        return True

    async def change(
        self, session: str, user: str, title: str | None, archived: bool | None
    ) -> bool:
        found = await self.get(session, user)
        if found is None:
            return False
        changed = replace(
            found,
            title=found.title if title is None else title,
            archived=found.archived if archived is None else archived,
            temporary=found.temporary and title is None,
        )
        self._sessions[session] = (user, changed)
        return True

    async def touch(self, session: str, user: str, now: datetime) -> bool:
        found = await self.get(session, user)
        if found is not None:
            self._sessions[session] = (user, replace(found, touched=max(found.touched, now)))
        return found is not None

    async def remove(self, session: str, user: str) -> bool:
        found = await self.get(session, user)
        if found is not None:
            self._drop(session)
        return found is not None

    async def messages(self, session: str, most: int) -> tuple[ChatMessage, ...]:
        return self._messages.get(session, ())[-most:]

    async def remember(
        self,
        session: ChatSession,
        user: str,
        messages: Sequence[ChatMessage],
        *,
        most_sessions: int,
        most_messages: int,
    ) -> bool:
        if most_sessions:
            there = await self.add(session, user, most_sessions)
        else:
            there = await self.touch(session.id, user, session.touched)
        if there:
            kept = (*self._messages.get(session.id, ()), *messages)
            self._messages[session.id] = kept[-most_messages:]
        return there

    async def clear(self, session: str, user: str, now: datetime) -> bool:
        there = await self.touch(session, user, now)
        if there:
            self._messages.pop(session, None)
        return there

    async def sweep(self, temporary: datetime, lasting: datetime | None, limit: int) -> int:
        old = [
            each.id
            for _, each in self._sessions.values()
            if (until := temporary if each.temporary else lasting) and each.touched < until
        ][:limit]
        for session in old:
            self._drop(session)
        return len(old)

    async def count_use(self, user: str, day: date, most: int) -> bool:
        if self._uses[user, day] >= most:
            return False
        self._uses[user, day] += 1
        return True

    async def forget_uses(self, before: date) -> None:
        for user, day in [key for key in self._uses if key[1] < before]:
            del self._uses[user, day]

    def _counted(self, session: ChatSession) -> ChatSession:
        return replace(session, messages=len(self._messages.get(session.id, ())))

    def _drop(self, session: str) -> None:
        self._sessions.pop(session, None)
        self._messages.pop(session, None)
