"""Worker credentials: sent in the clear with every call, checked each time, hashed almost never.

A seal is a keyed digest of a name, a password and the stored hash of that password. Once the
password was found to be right, so is its seal, for as long as the stored hash stays the same; only
the user's row is looked at again now and then. Tasks keep the seal they were taken with, so that
a new primary knows the credentials of all workers at play without hashing any.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rookery.clock import Clock
from rookery.service.joined import Joined
from rookery.service.login import Attempts, WrongCredentials, in_good_standing
from rookery.service.password_rules import LONGEST_PASSWORD
from rookery.service.passwords import NOBODYS_HASH, Passwords
from rookery.service.remembered import Remembered
from rookery.service.users import User, Users

TOKEN_PREFIX = "rkw_"  # noqa: S105 - what tokens begin with, no secret
SEAL_BYTES = 16
USER_SECONDS = 60.0
TOKEN_SECONDS = 60.0
WRONG_SECONDS = 30.0
MOST_SEALS = 50_000


class WorkerTokens(Protocol):
    """Tokens that a worker may send instead of its owner's password."""

    async def owner(self, token: str) -> str | None:
        """Whose token this is; None when it is unknown, revoked, expired or not for workers."""
        ...


@dataclass(frozen=True, slots=True)
class Verified:
    """A user who is who they say; the seal is empty where a token was used."""

    user: User
    seal: str


class Credentials:
    """One per process; the event loop alone writes here."""

    def __init__(
        self, users: Users, passwords: Passwords, tokens: WorkerTokens, clock: Clock, key: bytes
    ) -> None:
        self._users = users
        self._passwords = passwords
        self._tokens = tokens
        self._key = key
        self._attempts = Attempts(clock)
        self._rows: Remembered[str, User] = Remembered(clock, MOST_SEALS)
        self._right: dict[str, None] = {}
        self._right_tokens: Remembered[str, bool] = Remembered(clock, MOST_SEALS)
        self._wrong: Remembered[str, bool] = Remembered(clock, MOST_SEALS)
        self._checks: Joined[str, Verified] = Joined()

    def known(self, name: str, password: str) -> Verified | None:
        """At once, from memory; None when somebody must be asked. Raises for a blocked user."""
        user = self._rows.get(name)
        if user is None:
            return None
        seal = self._seal(name, password, user.password_hash)
        if seal in self._right:
            return Verified(in_good_standing(user), seal)
        if self._right_tokens.get(seal):
            return Verified(in_good_standing(user), "")
        return None

    async def check(self, name: str, password: str, client: str) -> Verified:
        """The user, or a refusal of `login`; equal checks at one time are made once."""
        if found := self.known(name, password):
            return found
        attempt = self._seal(name, password, "")
        if self._wrong.get(attempt) or len(password) > LONGEST_PASSWORD:
            raise WrongCredentials
        return await self._checks(attempt, lambda: self._look(name, password, client, attempt))

    def adopt(self, seals: Iterable[str]) -> None:
        """Trust seals that were stored with tasks: they were right when the tasks were taken."""
        for seal in seals:
            if seal:
                self._keep(seal)

    def forget(self, name: str) -> None:
        """The user has changed; what was wrong before may be right now."""
        self._rows.forget(name)
        self._wrong.forget_all()

    def forget_tokens(self) -> None:
        """A token has changed, and nothing here says which seals were made with it."""
        self._right_tokens.forget_all()
        self._wrong.forget_all()

    def forget_all(self) -> None:
        """Anything may have changed. Seals stay: they are right as long as their hash is."""
        self._rows.forget_all()
        self.forget_tokens()

    async def _look(self, name: str, password: str, client: str, attempt: str) -> Verified:
        looked_at = self._forgotten()
        user = await self._users.by_name(name)
        hashed = user.password_hash if user else NOBODYS_HASH
        seal = self._seal(name, password, hashed)
        is_token = password.startswith(TOKEN_PREFIX)
        if is_token:
            right = await self._tokens.owner(password) == name
        else:
            right = seal in self._right or await self._matches(name, hashed, password, client)
        if user is None or not right:
            self._wrong.put(attempt, True, WRONG_SECONDS if looked_at == self._forgotten() else 0)
            raise WrongCredentials
        self._remember(user, seal, is_token=is_token, fresh=looked_at == self._forgotten())
        return Verified(in_good_standing(user), "" if is_token else seal)

    async def _matches(self, name: str, hashed: str, password: str, client: str) -> bool:
        self._attempts.charge(client, name)
        right = await self._passwords.matches(name, hashed, password)
        if right:
            self._attempts.refund(client, name)
        return right

    def _forgotten(self) -> int:
        """Changes when something did: what was looked up before it may be of the past."""
        return self._rows.forgotten + self._right_tokens.forgotten

    def _remember(self, user: User, seal: str, *, is_token: bool, fresh: bool) -> None:
        if not is_token:
            self._keep(seal)
        elif fresh:
            self._right_tokens.put(seal, True, TOKEN_SECONDS)
        if fresh:
            self._rows.put(user.name, user, USER_SECONDS)

    def _keep(self, seal: str) -> None:
        self._right.pop(seal, None)
        self._right[seal] = None
        if len(self._right) > MOST_SEALS:
            del self._right[next(iter(self._right))]

    def _seal(self, name: str, password: str, hashed: str) -> str:
        # Lengths first: no other name and password give the same words.
        words = f"{len(name)} {len(password)} {name}{password}{hashed}".encode(
            "utf-8", "surrogatepass"
        )
        return hashlib.blake2b(words, key=self._key, digest_size=SEAL_BYTES).hexdigest()
