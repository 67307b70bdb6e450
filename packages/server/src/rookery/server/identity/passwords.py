"""Which passwords are allowed, and their hashes by argon2, computed in threads. The result of a
check is cached for a while under a keyed digest of the password.
"""

import base64
import hmac
import importlib
from collections.abc import Callable, Iterator, Sequence

import argon2

from rookery.core.boundary.errors import Overloaded
from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.errors import message_in_docstring
from rookery.server.caches import ExpiringCache, SharedWork
from rookery.server.identity.users import AccountRefused, Malformed

# Which passwords are allowed.
#
# Where zxcvbn is installed, a password needs a score of 3 of 4. Otherwise a simple rule applies:
# eight different characters, or sixteen characters of which five differ, not counting the user's
# own name and runs such as `abcdefgh` or `12345678`.

LEAST_CHARACTERS = 8
LONGEST_PASSWORD = 1024
LEAST_SCORE = 3
JUDGED_CHARACTERS = 16
"""zxcvbn takes up to 0.1 s for 16 characters and 5 s for 72. A password is at least as hard to
guess as any part of it, so that parts of this length are scored."""
MOST_PARTS = 3
RUNS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiopasdfghjklzxcvbnm")
COMMON = ("password", "letmein", "iloveyou", "welcome", "football", "stockfish", "rookery")
LONG, LONG_KINDS = 16, 5

Judge = Callable[[str, Sequence[str]], int]
"""Scores a password from 0 (weakest) to 4, given words that others know about the user."""


class WeakPassword(AccountRefused):
    """The password is too easy to guess: use a longer one, such as four random words."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(message_in_docstring(type(self)))


def check_password(password: str, about: Sequence[str], judge: Judge | None = None) -> None:
    """Checks a new password; raises WeakPassword or Malformed. `about` are the user's name and
    e-mail address."""
    if not LEAST_CHARACTERS <= len(password) <= LONGEST_PASSWORD:
        raise Malformed(f"A password has {LEAST_CHARACTERS} to {LONGEST_PASSWORD} characters.")
    judge = judge or choose_judge()
    if not any(judge(part, about) >= LEAST_SCORE for part in _split_parts(password)):
        raise WeakPassword


def _split_parts(password: str) -> Iterator[str]:
    """The parts to score: repetitions count once, and short parts are left out."""
    once = password[: (password + password).index(password, 1)]
    yield once[:JUDGED_CHARACTERS]
    for number in range(1, MOST_PARTS):
        part = once[number * JUDGED_CHARACTERS : (number + 1) * JUDGED_CHARACTERS]
        if len(part) >= LEAST_CHARACTERS:
            yield part


def choose_judge() -> Judge:
    """zxcvbn where it is installed, else the simple rule."""
    try:
        zxcvbn = importlib.import_module("zxcvbn").zxcvbn
    except ModuleNotFoundError:
        return plain_score
    return lambda password, about: int(zxcvbn(password, list(about))["score"])


def plain_score(password: str, about: Sequence[str]) -> int:
    """4 for a password that passes the simple rule, else 0."""
    rest = password.lower()
    for word in (*about, *COMMON, *RUNS, *(run[::-1] for run in RUNS)):
        rest = _shorten_word(rest, word.lower())
    kinds = len(set(rest))
    good = kinds >= LEAST_CHARACTERS or (len(rest) >= LONG and kinds >= LONG_KINDS)
    return 4 if good else 0


def _shorten_word(text: str, word: str) -> str:
    """Shortens every piece of the word with at least four characters to its first one."""
    for size in range(len(word), 3, -1):
        for start in range(len(word) - size + 1):
            piece = word[start : start + size]
            text = text.replace(piece, piece[0])
    return text


# About 30 ms on a core of 2020. Memory is per running check, of which there are two.
TIME_COST = 3
MEMORY_KIB = 19 * 1024

NO_ROOM = frozenset({"Memory allocation error", "Threading failure"})
"""Argon2's words where the machine had no room for a check, which says nothing of the password."""

RIGHT_SECONDS = 120.0
WRONG_SECONDS = 30.0
MOST_REMEMBERED = 20_000


def _make_unmatchable_hash() -> str:
    """A hash that no password has, and that takes as long to check as any other."""
    salt, digest = (base64.b64encode(bytes(size)).rstrip(b"=").decode() for size in (16, 32))
    return f"$argon2id$v=19$m={MEMORY_KIB},t={TIME_COST},p=1${salt}${digest}"


NOBODYS_HASH = _make_unmatchable_hash()


class Passwords:
    """Hashes and checks passwords; equal checks at the same time are made once. Only the event loop
    writes to it."""

    def __init__(self, threads: Threads, clock: Clock, key: bytes) -> None:
        self._threads = threads
        self._key = key
        self._argon = argon2.PasswordHasher(
            time_cost=TIME_COST, memory_cost=MEMORY_KIB, parallelism=1
        )
        self._checks: SharedWork[bytes, bool] = SharedWork()
        self._verdicts: ExpiringCache[bytes, bool] = ExpiringCache(clock, MOST_REMEMBERED)

    async def hash(self, password: str) -> str:
        return await self._threads.hash(self._argon.hash, password)

    async def check_new(self, password: str, about: Sequence[str]) -> None:
        """Checks a new password; raises WeakPassword or Malformed if it is not allowed."""
        await self._threads.cpu(check_password, password, about)

    async def matches(self, name: str, hashed: str, password: str) -> bool:
        """Whether the password has this hash; raises Overloaded when too many checks wait, or the
        machine has no memory for one.

        The name is part of the cache's key: otherwise all names without an account would share an
        entry, and the time of an answer would tell them apart from others.
        """
        if len(password) > LONGEST_PASSWORD:
            return False
        digest = self._digest(name, hashed, password)
        known = self._verdicts.get(digest)
        if known is not None:
            return known
        right = await self._checks(
            digest, lambda: self._threads.check_hash(self._verify, hashed, password)
        )
        self._verdicts.put(digest, right, RIGHT_SECONDS if right else WRONG_SECONDS)
        return right

    def _verify(self, hashed: str, password: str) -> bool:
        try:
            return self._argon.verify(hashed, password)
        except argon2.exceptions.VerificationError as error:
            if error.args[0] in NO_ROOM:
                raise Overloaded("hash") from error
            return False
        except argon2.exceptions.InvalidHashError:
            return False

    def _digest(self, *words: str) -> bytes:
        return hmac.digest(self._key, "\0".join(words).encode(), "sha256")
