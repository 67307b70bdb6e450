"""Remembers which worker tokens are valid, by digest, so that a worker's call needs no query.

A token is remembered until it is revoked, has expired, or its owner's machines have not called for
long. Each process is notified of a revocation; since a notice may be missed, all remembered tokens
are also compared with the database now and then, and at once after the connection that receives
notices was interrupted.
"""

from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol

from rookery.core.clock import Clock
from rookery.server.boundary.domains import Domain, runs
from rookery.server.identity.users import WORKER_PREFIX, Token, Tokens, User, digest_of

MOST_TOKENS = 200_000
ROWS_AT_A_TIME = 500
RECENT = timedelta(days=1)
"""Tokens used since then are loaded when this process becomes primary."""


class TokenFinder(Protocol):
    """Looks tokens up in the database."""

    async def find_worker_token(self, secret: str) -> Token | None:
        """The token; None where it is unknown, revoked, expired or not for workers, or its owner
        is blocked or pending."""
        ...


@dataclass(frozen=True, slots=True)
class _KnownToken:
    """A valid token. Its owner is known by name and time of creation, since another account may
    get the name of a removed one."""

    id: str
    owner: str
    owner_created: datetime
    expires: datetime | None


def is_worker_token(password: str) -> bool:
    """Whether a worker sent this as a token instead of a password."""
    return password.startswith(WORKER_PREFIX)


class WorkerTokens:
    """The valid tokens of workers that called recently. One per process; only the event loop uses
    it."""

    def __init__(self, finder: TokenFinder, rows: Tokens, clock: Clock) -> None:
        self._finder = finder
        self._rows = rows
        self._clock = clock
        self._known: dict[bytes, _KnownToken] = {}
        self._digests: dict[str, bytes] = {}
        self._used: set[str] = set()
        self.forget_count = 0
        """The number of times that something was forgotten. What was read before it grew may be out
        of date."""

    def holds(self, secret: str, user: User) -> bool:
        """Whether this is known to be a valid token of the user, from memory alone."""
        known = self._known.get(digest_of(secret))
        if known is None or known.owner != user.name or known.owner_created != user.created:
            return False
        if known.expires is not None and known.expires <= self._clock.now():
            return False
        self._used.add(known.id)
        return True

    async def check(self, secret: str, user: User) -> bool:
        """Whether this is a valid token of the user; remembered if so."""
        if self.holds(secret, user):
            return True
        forgotten_before = self.forget_count
        token = await self._finder.find_worker_token(secret)
        if token is None or token.user != user.name:
            return False
        if forgotten_before == self.forget_count:
            self.remember(token, user)
        return True

    def forget(self, token_id: str) -> None:
        """Forgets a token that was revoked."""
        self.forget_count += 1
        digest = self._digests.pop(token_id, None)
        if digest is not None:
            del self._known[digest]

    def distrust_lookups(self) -> None:
        """Remembers no token whose lookup is under way, since notices may have been missed."""
        self.forget_count += 1

    async def recheck(self, owners: Container[str]) -> None:
        """Forgets all tokens that are no longer valid, or whose owner is not among these."""
        known = list(self._known.items())
        for start in range(0, len(known), ROWS_AT_A_TIME):
            some = known[start : start + ROWS_AT_A_TIME]
            wanted = [digest for digest, token in some if token.owner in owners]
            valid = frozenset(await self._rows.valid_among(wanted, self._clock.now()))
            for digest, token in some:
                if digest not in valid:
                    self.forget(token.id)

    async def recent(self, after: str) -> tuple[Token, ...]:
        """Some of the tokens that workers used lately, in the order of their ids."""
        now = self._clock.now()
        return await self._rows.used_by_workers(after, now - RECENT, now, ROWS_AT_A_TIME)

    def remember(self, token: Token, user: User) -> None:
        """Remembers a valid token of the user."""
        known = _KnownToken(token.id, user.name, user.created, token.expires)
        self._known[token.digest] = known
        self._digests[token.id] = token.digest
        if len(self._known) > MOST_TOKENS:
            self.forget(next(iter(self._known.values())).id)

    @runs(Domain.LOOP, "writes 500 rows at a time")
    async def note_uses(self) -> None:
        """Stores that tokens were used; the periodic job."""
        used, self._used = iter(self._used), set()
        while some := list(islice(used, ROWS_AT_A_TIME)):
            await self._rows.note_uses(dict.fromkeys(some, self._clock.now()))
