"""Finds out who makes a request, by a token or by a login, and what they may do."""

from dataclasses import dataclass
from datetime import datetime

from rookery.core.clock import Clock
from rookery.core.errors import LoginNeeded, NotAllowed, message_in_docstring
from rookery.core.model.actor import Actor
from rookery.server.boundary.domains import Domain, runs
from rookery.server.caches import ExpiringCache, Refresher
from rookery.server.db.listening import ChangeNotices, Channel
from rookery.server.identity.users import (
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
from rookery.server.identity.worker_credentials import WorkerCredentials
from rookery.server.logs import Log

BEARER_SECONDS = 5.0
MOST_BEARERS = 20_000
IN_PERSON = frozenset(Scope) - {Scope.WORKER}
"""The scopes of a user who has logged in with a password; their groups still limit what they may
do."""


class TokenRefused(LoginNeeded):
    """This token is not known here, or it was revoked or has expired."""

    def __str__(self) -> str:
        return super().__str__() or message_in_docstring(type(self))


class OwnerRefused(NotAllowed, TokenRefused):
    """The owner of this token is blocked or still waits for approval."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who makes a request and the scopes they have; `token_id` is empty after a login."""

    user: User
    scopes: frozenset[Scope]
    token_id: str = ""

    @property
    def actor(self) -> Actor:
        """The actor for the rules: an approver only with the scope to approve."""
        may_approve = is_approver(self.user) and Scope.APPROVE in self.scopes
        return Actor(self.user.name, approver=may_approve)


def actor_of(caller: Caller | None) -> Actor | None:
    return None if caller is None else caller.actor


def name_of_caller(caller: Caller | None) -> str | None:
    return None if caller is None else caller.user.name


@dataclass(frozen=True, slots=True)
class _Found:
    """A token and its owner as stored in the database, or nothing."""

    token: Token | None = None
    user: User | None = None


class Bearers:
    """Finds the user of a token. One per process; only the event loop writes to it."""

    def __init__(self, tokens: Tokens, users: Users, clock: Clock) -> None:
        self._tokens = tokens
        self._users = users
        self._clock = clock
        self._found: ExpiringCache[bytes, _Found] = ExpiringCache(clock, MOST_BEARERS)
        self._uses: dict[str, datetime] = {}

    async def find_bearer(self, secret: str) -> Caller:
        """The user of a token; raises TokenRefused."""
        token, user = await self._find_valid(secret)
        return Caller(user, token.scopes, token.id)

    async def find_logged_in(self, name: str) -> Caller:
        """A user who has logged in by password; raises OwnerRefused."""
        user = await self._users.by_name(name)
        if user is None or user.blocked or user.pending:
            raise OwnerRefused
        return Caller(user, IN_PERSON)

    async def find_worker_token(self, secret: str) -> Token | None:
        """A worker's token; None where it is refused or not for workers."""
        try:
            token, _ = await self._find_valid(secret)
        except TokenRefused:
            return None
        return token if Scope.WORKER in token.scopes else None

    @runs(Domain.LOOP, "awaits one write")
    async def flush(self) -> None:
        """Stores when tokens were last used; called once a minute."""
        uses, self._uses = self._uses, {}
        if uses:
            await self._tokens.note_uses(uses)

    def forget_all(self) -> None:
        """Empties the cache, after any user or token has changed."""
        self._found.forget_all()

    async def _find_valid(self, secret: str) -> tuple[Token, User]:
        found, now = await self._find(secret), self._clock.now()
        token, user = found.token, found.user
        if token is None or user is None or not token.is_valid(now):
            raise TokenRefused
        if user.blocked or user.pending:
            raise OwnerRefused
        self._uses[token.id] = now
        return token, user

    async def _find(self, secret: str) -> _Found:
        if len(secret) > LONGEST or not secret.startswith((TOKEN_PREFIX, WORKER_PREFIX)):
            return _Found()
        digest = digest_of(secret)
        found = self._found.get(digest)
        if found is None:
            looked_at = self._found.forget_count
            found = await self._load(digest)
            if looked_at == self._found.forget_count:
                self._found.put(digest, found, BEARER_SECONDS)
        return found

    async def _load(self, digest: bytes) -> _Found:
        token = await self._tokens.by_digest(digest)
        user = None if token is None else await self._users.by_name(token.user)
        return _Found(token, user)


def forget_changed_accounts(
    changes: ChangeNotices, credentials: WorkerCredentials, bearers: Bearers, log: Log
) -> None:
    """Drops what is remembered of an account or a token once any process has changed it. When
    notices may have been missed, what workers need is compared with the database and stays, because
    otherwise all their calls would ask the database at once."""
    rereading = Refresher(credentials.reread_all, log)

    def forget_user(name: str) -> None:
        credentials.forget(name)
        bearers.forget_all()

    def forget_token(token_id: str) -> None:
        credentials.tokens.forget(token_id)
        bearers.forget_all()

    def reread() -> None:
        bearers.forget_all()
        credentials.distrust_lookups()
        rereading.schedule()

    changes.subscribe(Channel.USERS, forget_user, reread)
    changes.subscribe(Channel.TOKENS, forget_token, bearers.forget_all)
