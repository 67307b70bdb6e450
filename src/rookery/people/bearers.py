"""Bearers: who shows a token or is logged in, and what that lets them do.

What was found is remembered for a few seconds, so that a script's calls cost one look at the
database, and a revoked token or a blocked user stops counting within that time.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from rookery.boundary.domains import Domain, runs
from rookery.caches import ExpiringCache
from rookery.clock import Clock
from rookery.people.users import (
    LONGEST,
    TOKEN_PREFIX,
    WORKER_PREFIX,
    Scope,
    Token,
    Tokens,
    User,
    Users,
    digest_of,
    is_approver,
)
from rookery.rules.answers import Word
from rookery.rules.lifecycle import Actor

BEARER_SECONDS = 5.0
MOST_BEARERS = 20_000
IN_PERSON = frozenset(Scope) - {Scope.WORKER}
"""What somebody may do who has given their password; what they are let do decides besides."""


class TokenRefused(Exception):
    """This token is not known here, or it was revoked or has expired."""

    def __str__(self) -> str:
        return super().__str__() or (self.__doc__ or "").strip()


class OwnerRefused(TokenRefused):
    """The owner of this token is blocked or still waits for approval."""


@dataclass(frozen=True, slots=True)
class Bearer:
    """Somebody with a valid token; without one it is the person who is logged in."""

    user: User
    scopes: frozenset[Scope]
    token_id: str = ""

    @property
    def actor(self) -> Actor:
        """An approver is one only with a token that was made for approving."""
        may_approve = is_approver(self.user) and Scope.APPROVE in self.scopes
        return Actor(self.user.name, approver=may_approve)


@dataclass(frozen=True, slots=True)
class _Found:
    """A look at the database: a token with its owner, or nothing."""

    token: Token | None = None
    user: User | None = None


class Bearers:
    """One per process; the event loop alone writes here."""

    def __init__(self, tokens: Tokens, users: Users, clock: Clock) -> None:
        self._tokens = tokens
        self._users = users
        self._clock = clock
        self._found: ExpiringCache[bytes, _Found] = ExpiringCache(clock, MOST_BEARERS)
        self._uses: dict[str, datetime] = {}

    async def bearer(self, secret: str) -> Bearer:
        """Who shows this token; raises TokenRefused."""
        found = await self._look(secret)
        token, user = found.token, found.user
        if token is None or user is None or not token.is_valid(self._clock.now()):
            raise TokenRefused
        if user.blocked or user.pending:
            raise OwnerRefused
        self._uses[token.id] = self._clock.now()
        return Bearer(user, token.scopes, token.id)

    async def in_person(self, name: str) -> Bearer:
        """Somebody whose password was checked before; raises OwnerRefused."""
        user = await self._users.by_name(name)
        if user is None or user.blocked or user.pending:
            raise OwnerRefused
        return Bearer(user, IN_PERSON)

    async def owner(self, secret: str) -> str | None:
        """Whose worker token this is; None when it counts for no worker."""
        try:
            bearer = await self.bearer(secret)
        except TokenRefused:
            return None
        return bearer.user.name if Scope.WORKER in bearer.scopes else None

    @runs(Domain.LOOP, "awaits one write")
    async def flush(self) -> None:
        """Write down when tokens were last used: once a minute is enough for people to see."""
        uses, self._uses = self._uses, {}
        if uses:
            await self._tokens.note_uses(uses)

    def forget_all(self) -> None:
        """A user or a token has changed; each is one look at the database away."""
        self._found.forget_all()

    async def _look(self, secret: str) -> _Found:
        if len(secret) > LONGEST or not secret.startswith((TOKEN_PREFIX, WORKER_PREFIX)):
            return _Found()
        digest = digest_of(secret)
        found = self._found.get(digest)
        if found is None:
            looked_at = self._found.forgotten
            found = await self._look_up(digest)
            if looked_at == self._found.forgotten:
                self._found.put(digest, found, BEARER_SECONDS)
        return found

    async def _look_up(self, digest: bytes) -> _Found:
        token = await self._tokens.by_digest(digest)
        user = None if token is None else await self._users.by_name(token.user)
        return _Found(token, user)


# What a user's word about somebody else's run is worth.
#
# Approvers, and those who gave the fleet enough of their machines' time, stop a run by themselves.
# Others stop it where several of them find the same, but accounts are free to make: one that is
# too young or has given next to nothing does not count.

TRUST_SECONDS = 600.0
MOST_TRUSTED = 10_000


class Contributions(Protocol):
    """What users' machines have given."""

    async def core_hours(self, user: str) -> float: ...


@dataclass(frozen=True, slots=True)
class TrustRequirements:
    """What makes a user's word stop a run, and what makes it count together with others'."""

    stop_hours: float = 100.0
    count_hours: float = 1.0
    count_age: timedelta = timedelta(days=7)


class TrustedUsers:
    """Hours are looked up at the first complaint, which is rare, and remembered for a while."""

    def __init__(
        self, contributions: Contributions, clock: Clock, required: TrustRequirements
    ) -> None:
        self._contributions = contributions
        self._clock = clock
        self._required = required
        self._hours: ExpiringCache[str, float] = ExpiringCache(clock, MOST_TRUSTED)

    async def __call__(self, user: User) -> Word:
        if is_approver(user):
            return Word.STOPS
        required, hours = self._required, await self._hours_of(user.name)
        if hours >= required.stop_hours:
            return Word.STOPS
        grown = self._clock.now() - user.created >= required.count_age
        return Word.COUNTS if grown and hours >= required.count_hours else Word.NOTED

    async def _hours_of(self, name: str) -> float:
        known = self._hours.get(name)
        if known is None:
            known = await self._contributions.core_hours(name)
            self._hours.put(name, known, TRUST_SECONDS)
        return known
