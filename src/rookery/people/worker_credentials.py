"""Checks the credentials of workers, which come with every call, mostly without hashing."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rookery.boundary.domains import Domain, runs
from rookery.caches import ExpiringCache, SharedWork
from rookery.clock import Clock
from rookery.people.login import LoginAttempts, WrongCredentials, check_active
from rookery.people.passwords import LONGEST_PASSWORD, NOBODYS_HASH, Passwords
from rookery.people.users import User, Users

TOKEN_PREFIX = "rkw_"  # noqa: S105 - what tokens begin with, no secret
SEAL_BYTES = 16
USER_SECONDS = 60.0
TOKEN_SECONDS = 60.0
WRONG_SECONDS = 30.0
REREAD_SECONDS = 30.0
REREADS_PER_SPAN = 6
"""The number of rereads in a span. Users whose workers called in this span or the previous one are
reread; a worker gives a sign of life every two minutes."""
ROWS_AT_A_TIME = 500
MOST_SEALS = 50_000


class WorkerTokens(Protocol):
    """The tokens that a worker may send instead of its owner's password."""

    async def find_worker_owner(self, token: str) -> str | None:
        """The owner's name; None where the token is unknown, revoked, expired or not for
        workers."""
        ...


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
        self._tokens = tokens
        self._key = key
        self._attempts = LoginAttempts(clock)
        self._rows: ExpiringCache[str, User] = ExpiringCache(clock, MOST_SEALS)
        self._right: dict[str, None] = {}
        self._right_tokens: ExpiringCache[str, bool] = ExpiringCache(clock, MOST_SEALS)
        self._wrong: ExpiringCache[str, bool] = ExpiringCache(clock, MOST_SEALS)
        self._checks: SharedWork[str, VerifiedUser] = SharedWork()
        self._called: set[str] = set()
        self._called_before: set[str] = set()
        self._rereads = 0

    def find_verified(self, name: str, password: str) -> VerifiedUser | None:
        """The user, from memory alone; None where the database has to be asked. Raises
        AccountBlocked or AccountPending."""
        user = self._rows.get(name)
        if user is None:
            return None
        seal = self._seal(name, password, user.password_hash)
        if seal in self._right:
            self._called.add(name)
            return VerifiedUser(check_active(user), seal)
        if self._right_tokens.get(seal):
            self._called.add(name)
            return VerifiedUser(check_active(user), "")
        return None

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
        if not self._right or password.startswith(TOKEN_PREFIX):
            return None
        changes_before = self._count_changes()
        user = await self._users.by_name(name)
        if user is None:
            return None
        seal = self._seal(name, password, user.password_hash)
        if seal not in self._right:
            return None
        fresh = changes_before == self._count_changes()
        self._remember(user, seal, is_token=False, fresh=fresh)
        return VerifiedUser(check_active(user), seal)

    @runs(Domain.LOOP, "reads the rows of 500 users by one query")
    async def reread_callers(self) -> None:
        """The periodic job: rereads the rows of users whose workers called recently. Otherwise each
        row would be read separately in the middle of a call, when it has expired."""
        names = sorted(self._called | self._called_before)
        self._rereads += 1
        if self._rereads % REREADS_PER_SPAN == 0:
            self._called_before, self._called = self._called, set()
        for start in range(0, len(names), ROWS_AT_A_TIME):
            changes_before = self._count_changes()
            for user in await self._users.by_names(names[start : start + ROWS_AT_A_TIME]):
                if changes_before == self._count_changes():
                    self._rows.put(user.name, user, USER_SECONDS)

    def adopt_seals(self, seals: Iterable[str]) -> None:
        """Accepts seals that were stored with tasks by an earlier primary."""
        for seal in seals:
            if seal:
                self._add_seal(seal)

    def forget(self, name: str) -> None:
        """Forgets what is cached of a user who has changed, and all wrong attempts."""
        self._rows.forget(name)
        self._wrong.forget_all()

    def forget_tokens(self) -> None:
        """Forgets all tokens, after one has changed."""
        self._right_tokens.forget_all()
        self._wrong.forget_all()

    def forget_all(self) -> None:
        """Forgets users and tokens. Seals stay: they are valid as long as their hash is."""
        self._rows.forget_all()
        self.forget_tokens()

    async def _verify(self, name: str, password: str, client: str, attempt: str) -> VerifiedUser:
        changes_before = self._count_changes()
        user = await self._users.by_name(name)
        hashed = user.password_hash if user else NOBODYS_HASH
        seal = self._seal(name, password, hashed)
        is_token = password.startswith(TOKEN_PREFIX)
        if is_token:
            right = await self._tokens.find_worker_owner(password) == name
        else:
            right = seal in self._right or await self._try_password(name, hashed, password, client)
        if user is None or not right:
            self._wrong.put(
                attempt, True, WRONG_SECONDS if changes_before == self._count_changes() else 0
            )
            raise WrongCredentials
        self._remember(user, seal, is_token=is_token, fresh=changes_before == self._count_changes())
        return VerifiedUser(check_active(user), "" if is_token else seal)

    async def _try_password(self, name: str, hashed: str, password: str, client: str) -> bool:
        self._attempts.charge(client, name)
        right = await self._passwords.matches(name, hashed, password)
        if right:
            self._attempts.refund(client, name)
        return right

    def _count_changes(self) -> int:
        """The number of changes of users or tokens; values read before it grew may be out of
        date."""
        return self._rows.forget_count + self._right_tokens.forget_count

    def _remember(self, user: User, seal: str, *, is_token: bool, fresh: bool) -> None:
        if not is_token:
            self._add_seal(seal)
        elif fresh:
            self._right_tokens.put(seal, True, TOKEN_SECONDS)
        if fresh:
            self._rows.put(user.name, user, USER_SECONDS)

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
