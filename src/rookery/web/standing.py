"""Whether a signed-in visitor still may be: known, not blocked, the password unchanged."""

import hashlib
import hmac
from collections.abc import Callable

from rookery.clock import Clock
from rookery.service.remembered import Remembered
from rookery.service.users import User, Users

REMEMBERED_SECONDS = 2.0
MOST_REMEMBERED = 10_000


class Standing:
    """Looks users up, and remembers for two seconds so that a page costs one look, not ten."""

    def __init__(self, users: Users, clock: Clock, key: Callable[[], bytes]) -> None:
        self._users = users
        self._key = key
        self._marks: Remembered[str, str] = Remembered(clock, MOST_REMEMBERED)

    def mark(self, user: User) -> str:
        """What a session carries of the password: enough to notice a new one, nothing to guess."""
        digest = hmac.new(self._key(), user.password_hash.encode(), hashlib.sha256)
        return digest.hexdigest()[:16]

    async def holds(self, name: str, mark: str) -> bool:
        """Whether a session of that user, opened with that mark, still counts."""
        expected = self._marks.get(name)
        if expected is None:
            expected = await self._look_up(name)
            self._marks.put(name, expected, REMEMBERED_SECONDS)
        return bool(expected) and hmac.compare_digest(expected.encode(), mark.encode())

    def forget(self, name: str) -> None:
        """To be called when a user was changed here or elsewhere."""
        self._marks.forget(name)

    def forget_all(self) -> None:
        """To be called when a change may have been missed."""
        self._marks.forget_all()

    async def _look_up(self, name: str) -> str:
        user = await self._users.by_name(name)
        return "" if user is None or user.blocked else self.mark(user)
