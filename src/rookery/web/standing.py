"""Whether a signed-in visitor still may be: known, not blocked, the password unchanged."""

import hashlib
import hmac
from collections import OrderedDict
from dataclasses import dataclass

from rookery.clock import Clock
from rookery.service.users import User, Users

REMEMBERED_SECONDS = 2.0
MOST_REMEMBERED = 10_000


@dataclass(frozen=True, slots=True)
class _Remembered:
    until: float
    mark: str


class Standing:
    """Looks users up, and remembers for two seconds so that a page costs one look, not ten."""

    def __init__(self, users: Users, clock: Clock, key: bytes) -> None:
        self._users = users
        self._clock = clock
        self._key = key
        self._remembered: OrderedDict[str, _Remembered] = OrderedDict()

    def mark(self, user: User) -> str:
        """What a session carries of the password: enough to notice a new one, nothing to guess."""
        digest = hmac.new(self._key, user.password_hash.encode(), hashlib.sha256)
        return digest.hexdigest()[:16]

    async def holds(self, name: str, mark: str) -> bool:
        """Whether a session of that user, opened with that mark, still counts."""
        now = self._clock.seconds()
        known = self._remembered.get(name)
        if known is None or known.until <= now:
            known = _Remembered(now + REMEMBERED_SECONDS, await self._look_up(name))
            self._remember(name, known)
        return bool(known.mark) and hmac.compare_digest(known.mark.encode(), mark.encode())

    def forget(self, name: str) -> None:
        """To be called when a user was changed here or elsewhere."""
        self._remembered.pop(name, None)

    async def _look_up(self, name: str) -> str:
        user = await self._users.by_name(name)
        return "" if user is None or user.blocked else self.mark(user)

    def _remember(self, name: str, known: _Remembered) -> None:
        self._remembered[name] = known
        self._remembered.move_to_end(name)
        if len(self._remembered) > MOST_REMEMBERED:
            self._remembered.popitem(last=False)
