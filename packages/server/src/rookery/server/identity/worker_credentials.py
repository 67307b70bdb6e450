"""Checks the credentials of workers, which come with every call, mostly without hashing."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rookery.core.boundary.errors import Overloaded
from rookery.core.clock import Clock
from rookery.server.boundary.domains import Domain, runs
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.identity.login import LoginAttempts, WrongCredentials, check_active
from rookery.server.identity.passwords import LONGEST_PASSWORD, NOBODYS_HASH, Passwords
from rookery.server.identity.users import WORKER_PREFIX, Token, User, Users
from rookery.server.identity.worker_tokens import WorkerTokens, is_worker_token

SEAL_BYTES = 16
WRONG_SECONDS = 30.0
REREAD_SECONDS = 30.0
REREADS_PER_SPAN = 120
"""The number of rereads in a span, an hour. Users whose workers did not call in a whole span are
forgotten."""
ROWS_AT_A_TIME = 500
MOST_SEALS = 50_000


@dataclass(frozen=True, slots=True)
class VerifiedUser:
    """A user whose credentials are right; the seal is empty where a token was used."""

    user: User
    seal: str


class WorkerCredentials:
    """Checks the credentials of workers. One per process; only the event loop writes to it."""

    def __init__(
        self, users: Users, passwords: Passwords, tokens: WorkerTokens, clock: Clock, key: bytes
    ) -> None:
        self._users = users
        self._passwords = passwords
        self.tokens = tokens
        self._key = key
        self._attempts = LoginAttempts(clock)
        self._rows: dict[str, User] = {}
        self._right: dict[str, None] = {}
        self._wrong: ExpiringCache[str, bool] = ExpiringCache(clock, MOST_SEALS)
        self._checks: SharedWork[str, VerifiedUser] = SharedWork()
        self._called: set[str] = set()
        self._rereads = 0
        self._forget_count = 0

    def find_verified(self, name: str, password: str) -> VerifiedUser | None:
        """The user, from memory alone; None where the database has to be asked. Raises
        AccountBlocked or AccountPending."""
        user = self._rows.get(name)
        if user is None:
            return None
        seal = self._find_seal(user, password)
        if seal is None:
            return None
        self._called.add(name)
        if user.blocked or user.pending:
            check_active(user)  # raises what fits
        return VerifiedUser(user, seal)

    async def check(self, name: str, password: str, client: str) -> VerifiedUser:
        """The user; raises LoginRefused. Equal checks at the same time are made once."""
        if found := self.find_verified(name, password):
            return found
        attempt = self._seal(name, password, "")
        if self._wrong.get(attempt) or len(password) > LONGEST_PASSWORD:
            raise WrongCredentials
        return await self._checks(attempt, lambda: self._verify(name, password, client, attempt))

    async def reread(self, name: str, password: str) -> VerifiedUser | None:
        """The user, whose row is read again; None where a password has to be hashed or a token
        looked up. Raises AccountBlocked or AccountPending."""
        forgotten_before = self._count_forgotten()
        user = await self._users.by_name(name)
        seal = None if user is None else self._find_seal(user, password)
        if user is None or seal is None:
            return None
        if forgotten_before == self._count_forgotten():
            self._remember(user)
        return VerifiedUser(check_active(user), seal)

    @runs(Domain.LOOP, "reads the rows of 500 users by one query")
    async def reread_callers(self) -> None:
        """The periodic job: compares what is remembered with the database, and forgets users whose
        workers no longer call."""
        self._rereads += 1
        if self._rereads % REREADS_PER_SPAN == 0:
            for name in self._rows.keys() - self._called:
                del self._rows[name]
            self._called = set()
        await self.reread_all()

    async def reread_all(self) -> None:
        """Compares all that is remembered with the database, since a notice may have been
        missed."""
        names = sorted(self._rows)
        for start in range(0, len(names), ROWS_AT_A_TIME):
            await self._reread_rows(names[start : start + ROWS_AT_A_TIME])
        await self.tokens.recheck(self._rows)

    async def remember_recent_tokens(self) -> None:
        """Remembers the tokens that workers used lately, and their owners. Otherwise, after a
        restart or a takeover, each would be looked up separately in the middle of a call."""
        after, forgotten_before = "", self._count_forgotten()
        while tokens := await self.tokens.recent(after):
            names = sorted({token.user for token in tokens})
            owners = {user.name: user for user in await self._users.by_names(names)}
            if forgotten_before == self._count_forgotten():
                self._remember_tokens(tokens, owners)
            after, forgotten_before = tokens[-1].id, self._count_forgotten()

    def adopt_seals(self, seals: Iterable[str]) -> None:
        """Accepts seals that were stored with tasks by an earlier primary."""
        for seal in seals:
            if seal:
                self._add_seal(seal)

    def forget(self, name: str) -> None:
        """Forgets the row of a user who has changed, and all wrong attempts."""
        self._forget_count += 1
        self._rows.pop(name, None)
        self._wrong.forget_all()

    def distrust_lookups(self) -> None:
        """Keeps nothing of what is being read now, since notices may have been missed."""
        self._forget_count += 1
        self._wrong.forget_all()

    async def _verify(self, name: str, password: str, client: str, attempt: str) -> VerifiedUser:
        forgotten_before = self._count_forgotten()
        user = await self._users.by_name(name)
        seal = await self._check_secret(name, user, password, client)
        fresh = forgotten_before == self._count_forgotten()
        if user is None or seal is None:
            self._wrong.put(attempt, True, WRONG_SECONDS if fresh else 0)
            raise WrongCredentials
        if fresh:
            self._remember(user)
        return VerifiedUser(check_active(user), seal)

    async def _check_secret(
        self, name: str, user: User | None, password: str, client: str
    ) -> str | None:
        """The seal of a right password, which is empty for a valid token; None for wrong ones."""
        if is_worker_token(password):
            return "" if user and await self.tokens.check(password, user) else None
        hashed = user.password_hash if user else NOBODYS_HASH
        seal = self._seal(name, password, hashed)
        if seal not in self._right and not await self._try_password(name, hashed, password, client):
            return None
        self._add_seal(seal)
        return seal

    def _find_seal(self, user: User, password: str) -> str | None:
        """As `_check_secret`, from memory alone."""
        if password.startswith(WORKER_PREFIX):
            return "" if self.tokens.holds(password, user) else None
        seal = self._seal(user.name, password, user.password_hash)
        return seal if seal in self._right else None

    async def _try_password(self, name: str, hashed: str, password: str, client: str) -> bool:
        self._attempts.charge(client, name)
        try:
            right = await self._passwords.matches(name, hashed, password)
        except Overloaded:
            self._attempts.refund(client, name)  # nothing was tried
            raise
        if right:
            self._attempts.refund(client, name)
        return right

    async def _reread_rows(self, names: Sequence[str]) -> None:
        """Replaces the rows of these users, unless they were forgotten or read in the meantime."""
        before = {name: self._rows.get(name) for name in names}
        found = {user.name: user for user in await self._users.by_names(names)}
        for name, row in before.items():
            if row is None or self._rows.get(name) is not row:
                continue
            if name in found:
                self._rows[name] = found[name]
            else:
                del self._rows[name]

    def _remember_tokens(self, tokens: Iterable[Token], owners: Mapping[str, User]) -> None:
        for user in owners.values():
            self._remember(user)
        for token in tokens:
            if owner := owners.get(token.user):
                self.tokens.remember(token, owner)

    def _count_forgotten(self) -> int:
        """How often something was forgotten; rows read before may be out of date."""
        return self._forget_count + self.tokens.forget_count

    def _remember(self, user: User) -> None:
        self._called.add(user.name)
        self._rows[user.name] = user
        if len(self._rows) > MOST_SEALS:
            del self._rows[next(iter(self._rows))]

    def _add_seal(self, seal: str) -> None:
        self._right.pop(seal, None)
        self._right[seal] = None
        if len(self._right) > MOST_SEALS:
            del self._right[next(iter(self._right))]

    def _seal(self, name: str, password: str, hashed: str) -> str:
        # The lengths make the text unambiguous: no other name and password give the same.
        words = f"{len(name)} {len(password)} {name}{password}{hashed}".encode(
            "utf-8", "surrogatepass"
        )
        return hashlib.blake2b(words, key=self._key, digest_size=SEAL_BYTES).hexdigest()
