"""Passwords: hashed slowly in a thread, checked once, and remembered briefly by a keyed digest."""

import base64
import hmac
import importlib
from collections.abc import Callable, Iterator, Sequence

import argon2

from rookery.boundary.offload import Threads
from rookery.caches import ExpiringCache, SharedWork
from rookery.clock import Clock
from rookery.errors import Complaint
from rookery.people.users import Malformed

# Which passwords are good enough: long enough, and not what a guesser tries first.
#
# The judge is zxcvbn, where it is installed: a score of 3 of 4 is wanted. Without it a plain rule
# stands in: eight different characters, or sixteen characters of which five differ, and neither
# the user's own name nor a run such as `abcdefgh` or `12345678`.

LEAST_CHARACTERS = 8
LONGEST_PASSWORD = 1024
LEAST_SCORE = 3
JUDGED_CHARACTERS = 16
"""zxcvbn takes 0.1 s for the dearest 16 characters and 5 s for 72. A password is at least as hard
to guess as any part of it, so that a part is judged at a time."""
MOST_PARTS = 3
RUNS = ("abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiopasdfghjklzxcvbnm")
COMMON = ("password", "letmein", "iloveyou", "welcome", "football", "stockfish", "rookery")
LONG, LONG_KINDS = 16, 5

Judge = Callable[[str, Sequence[str]], int]
"""From 0, guessed at once, to 4; the words are what a guesser knows of the user."""


class WeakPassword(Complaint):
    """The password is too easy to guess: use a longer one, such as four random words."""

    exit_code = 2

    def __init__(self) -> None:
        super().__init__(" ".join((self.__doc__ or "").split()))


def check_password(password: str, about: Sequence[str], judge: Judge | None = None) -> None:
    """Raises WeakPassword or Malformed; `about` are the user's name and e-mail address."""
    if not LEAST_CHARACTERS <= len(password) <= LONGEST_PASSWORD:
        raise Malformed(f"A password has {LEAST_CHARACTERS} to {LONGEST_PASSWORD} characters.")
    judge = judge or best_judge()
    if not any(judge(part, about) >= LEAST_SCORE for part in _parts(password)):
        raise WeakPassword


def _parts(password: str) -> Iterator[str]:
    """What is repeated counts once, and a part too short for a password is none."""
    once = password[: (password + password).index(password, 1)]
    yield once[:JUDGED_CHARACTERS]
    for number in range(1, MOST_PARTS):
        part = once[number * JUDGED_CHARACTERS : (number + 1) * JUDGED_CHARACTERS]
        if len(part) >= LEAST_CHARACTERS:
            yield part


def best_judge() -> Judge:
    """zxcvbn, or the plain rule."""
    try:
        zxcvbn = importlib.import_module("zxcvbn").zxcvbn
    except ModuleNotFoundError:
        return plain_score
    return lambda password, about: int(zxcvbn(password, list(about))["score"])


def plain_score(password: str, about: Sequence[str]) -> int:
    """4 for what passes the plain rule, 0 for the rest."""
    rest = password.lower()
    for word in (*about, *COMMON, *RUNS, *(run[::-1] for run in RUNS)):
        rest = _without(rest, word.lower())
    kinds = len(set(rest))
    good = kinds >= LEAST_CHARACTERS or (len(rest) >= LONG and kinds >= LONG_KINDS)
    return 4 if good else 0


def _without(text: str, word: str) -> str:
    """The text with every piece of at least four characters of the word cut down to one."""
    for size in range(len(word), 3, -1):
        for start in range(len(word) - size + 1):
            piece = word[start : start + size]
            text = text.replace(piece, piece[0])
    return text


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
        self._checks: SharedWork[bytes, bool] = SharedWork()
        self._verdicts: ExpiringCache[bytes, bool] = ExpiringCache(clock, MOST_REMEMBERED)

    async def hash(self, password: str) -> str:
        return await self._threads.hash(self._argon.hash, password)

    async def check_new(self, password: str, about: Sequence[str]) -> None:
        """Raises WeakPassword or Malformed; to judge a password takes milliseconds."""
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
