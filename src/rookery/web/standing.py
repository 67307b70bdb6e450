"""Whether a signed-in visitor still may be: known, not blocked, the password unchanged, and not
logged out."""

import asyncio
import hashlib
import hmac
from collections.abc import Callable
from datetime import timedelta

from rookery.clock import Clock
from rookery.service.remembered import Remembered
from rookery.service.users import EndedSessions, User, Users
from rookery.web.session import SessionData

REMEMBERED_SECONDS = 2.0
MOST_REMEMBERED = 10_000
DIGEST_BYTES = 16


class Ended:
    """Sessions that somebody logged out of. They are read once, and again when others may have been
    missed; after that every process tells of those that it ends."""

    def __init__(self, rows: EndedSessions, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._digests: set[bytes] = set()
        self._is_complete = False
        self._misses = 0
        self._reading = asyncio.Lock()

    async def end(self, session: SessionData, lasting: timedelta) -> None:
        """The session counts no longer, whoever has its cookie."""
        now, digest = self._clock.now(), digest_of(session)
        await self._rows.end(digest, now, now + lasting)
        self._digests.add(digest)

    async def holds(self, session: SessionData) -> bool:
        """Whether it has ended."""
        if not self._is_complete:
            await self._read()
        return digest_of(session) in self._digests

    def told(self, text: str) -> None:
        """Another process has ended one."""
        self._digests.add(bytes.fromhex(text))

    def missed(self) -> None:
        """Others may have ended some that nobody told of."""
        self._is_complete = False
        self._misses += 1

    async def _read(self) -> None:
        async with self._reading:
            if not self._is_complete:
                before = self._misses
                self._digests |= await self._rows.all()
                # What was missed while it was read is read by the next.
                self._is_complete = before == self._misses


class Standing:
    """Looks users up, and remembers for two seconds so that a page costs one look, not ten."""

    def __init__(self, users: Users, ended: Ended, clock: Clock, key: Callable[[], bytes]) -> None:
        self._users = users
        self.ended = ended
        self._key = key
        self._marks: Remembered[str, str] = Remembered(clock, MOST_REMEMBERED)

    def mark(self, user: User) -> str:
        """What a session carries of the password: enough to notice a new one, nothing to guess."""
        digest = hmac.new(self._key(), user.password_hash.encode(), hashlib.sha256)
        return digest.hexdigest()[:16]

    async def holds(self, session: SessionData) -> bool:
        """Whether a session of a user, opened with that mark, still counts."""
        expected = self._marks.get(session.user)
        if expected is None:
            expected = await self._look_up(session.user)
            self._marks.put(session.user, expected, REMEMBERED_SECONDS)
        unchanged = hmac.compare_digest(expected.encode(), session.mark.encode())
        return bool(expected) and unchanged and not await self.ended.holds(session)

    def forget(self, name: str) -> None:
        """To be called when a user was changed here or elsewhere."""
        self._marks.forget(name)

    def forget_all(self) -> None:
        """To be called when a change may have been missed."""
        self._marks.forget_all()

    async def _look_up(self, name: str) -> str:
        user = await self._users.by_name(name)
        return "" if user is None or user.blocked else self.mark(user)


def digest_of(session: SessionData) -> bytes:
    """What a session is known by: its token is made anew at each login and never changes."""
    words = f"{session.user} {session.csrf}".encode()
    return hashlib.blake2b(words, digest_size=DIGEST_BYTES).digest()
