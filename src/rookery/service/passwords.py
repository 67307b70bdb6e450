"""Passwords: hashed slowly in a thread, checked once, and remembered briefly by a keyed digest."""

import base64
import hmac
from collections.abc import Sequence

import argon2

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.service.joined import Joined
from rookery.service.password_rules import LONGEST_PASSWORD, check_password
from rookery.service.remembered import Remembered

# About 30 ms on a core of 2020. Memory is per running check, of which there are two.
TIME_COST = 3
MEMORY_KIB = 19 * 1024

RIGHT_SECONDS = 120.0
WRONG_SECONDS = 30.0
MOST_REMEMBERED = 20_000


def _unmatchable() -> str:
    """A hash that no password has; checking against it takes as long as any other."""
    salt, digest = (base64.b64encode(bytes(size)).rstrip(b"=").decode() for size in (16, 32))
    return f"$argon2id$v=19$m={MEMORY_KIB},t={TIME_COST},p=1${salt}${digest}"


NOBODYS_HASH = _unmatchable()


class Passwords:
    """Hashes and checks. Equal checks at one time are made once; the loop alone writes here."""

    def __init__(self, threads: Threads, clock: Clock, key: bytes) -> None:
        self._threads = threads
        self._key = key
        self._argon = argon2.PasswordHasher(
            time_cost=TIME_COST, memory_cost=MEMORY_KIB, parallelism=1
        )
        self._checks: Joined[bytes, bool] = Joined()
        self._verdicts: Remembered[bytes, bool] = Remembered(clock, MOST_REMEMBERED)

    async def hash(self, password: str) -> str:
        return await self._threads.hash(self._argon.hash, password)

    async def check_new(self, password: str, about: Sequence[str]) -> None:
        """Raises WeakPassword or BadLength; to judge a password takes milliseconds."""
        await self._threads.cpu(check_password, password, about)

    async def matches(self, name: str, hashed: str, password: str) -> bool:
        """Whether the password is the one; raises Overloaded when too many checks wait.

        The name is part of what is remembered, or the speed of an answer would tell which other
        names have no account.
        """
        if len(password) > LONGEST_PASSWORD:
            return False
        digest = self._digest(name, hashed, password)
        known = self._verdicts.get(digest)
        if known is not None:
            return known
        right = await self._checks(
            digest, lambda: self._threads.hash(self._verify, hashed, password)
        )
        self._verdicts.put(digest, right, RIGHT_SECONDS if right else WRONG_SECONDS)
        return right

    def _verify(self, hashed: str, password: str) -> bool:
        try:
            return self._argon.verify(hashed, password)
        except (argon2.exceptions.VerificationError, argon2.exceptions.InvalidHashError):
            return False

    def _digest(self, *words: str) -> bytes:
        return hmac.digest(self._key, "\0".join(words).encode(), "sha256")
