"""Which passwords are good enough: long enough, and not what a guesser tries first.

The judge is zxcvbn, where it is installed: a score of 3 of 4 is wanted. Without it a plain rule
stands in: eight different characters, or sixteen characters of which five differ, and neither the
user's own name nor a run such as `abcdefgh` or `12345678`.
"""

import importlib
from collections.abc import Callable, Iterator, Sequence

from rookery.core.complaint import Complaint

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


class BadLength(Complaint):
    """A password has {least} to {most} characters."""

    exit_code = 2

    def __init__(self) -> None:
        sentence = (self.__doc__ or "").format(least=LEAST_CHARACTERS, most=LONGEST_PASSWORD)
        super().__init__(sentence)


def check_password(password: str, about: Sequence[str], judge: Judge | None = None) -> None:
    """Raises WeakPassword or BadLength; `about` are the user's name and e-mail address."""
    if not LEAST_CHARACTERS <= len(password) <= LONGEST_PASSWORD:
        raise BadLength
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
