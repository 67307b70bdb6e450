"""Regular expressions that people write, executed so that they can't run away.

Python's own engine may search for ever and can't be stopped. So patterns of users are run by RE2,
whose time is linear in the length of the text. RE2 supports neither backreferences nor lookaround.
One form of lookahead is common in filters of official servers and is split here: `^(?!this)that`.
"""

import functools
import re
from dataclasses import dataclass
from typing import Any

import re2

MOST_CHARACTERS = 500
MOST_SUBJECT = 200
"""How many characters of a text are searched; names of nets and architectures are shorter."""
MOST_MEMORY = 2**20
_NOT = "^(?!"


class BadPattern(ValueError):
    """the pattern can't be used: {why}"""

    def __init__(self, why: str) -> None:
        super().__init__((type(self).__doc__ or "").format(why=why))


@dataclass(frozen=True, slots=True)
class Pattern:
    """What must be found, and what the text must not begin with."""

    wanted: Any
    unwanted: Any = None

    def found_in(self, text: str) -> bool:
        if self.unwanted is not None and self.unwanted.match(text) is not None:
            return False
        return self.wanted.search(text) is not None

    def is_all_of(self, text: str) -> bool:
        if self.unwanted is not None and self.unwanted.match(text) is not None:
            return False
        return self.wanted.fullmatch(text) is not None


def check(pattern: str) -> None:
    """Raise BadPattern unless the server can search for the pattern."""
    _read(pattern)


def check_for_workers(pattern: str) -> None:
    """Raise BadPattern unless both RE2 and Python accept the pattern, because workers use Python's
    engine.

    Python's compiler only gets patterns in ASCII that RE2 accepts, which it compiles quickly.
    """
    if not pattern.isascii():
        raise BadPattern("it has other characters than ASCII")
    _compiled(pattern)
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise BadPattern(str(error)) from None


@functools.lru_cache(maxsize=4096)
def is_found(pattern: str, text: str) -> bool:
    """Whether the pattern occurs in the text; false for a bad pattern."""
    try:
        return _read(pattern).found_in(text[:MOST_SUBJECT])
    except BadPattern:
        return False


@functools.lru_cache(maxsize=4096)
def is_whole(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text; false for a bad pattern."""
    try:
        return len(text) <= MOST_SUBJECT and _read(pattern).is_all_of(text)
    except BadPattern:
        return False


def _read(pattern: str) -> Pattern:
    if not pattern.startswith(_NOT):
        return Pattern(_compiled(pattern))
    end = _end_of_group(pattern, len(_NOT))
    return Pattern(_compiled(f"^(?:{pattern[end + 1 :]})"), _compiled(pattern[len(_NOT) : end]))


def _end_of_group(pattern: str, start: int) -> int:
    """Return the end of the group whose content begins at `start`."""
    depth, place, in_set = 1, start, False
    while place < len(pattern):
        letter = pattern[place]
        if letter == "\\":
            place += 1
        elif in_set:
            in_set = letter != "]"
        elif letter == "[":
            in_set = True
            # A bracket that is first in a set is a member of it.
            first = place + 1 + pattern.startswith("^", place + 1)
            place = first if pattern.startswith("]", first) else place
        else:
            depth += (letter == "(") - (letter == ")")
            if not depth:
                return place
        place += 1
    raise BadPattern("a group has no end")


@functools.lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    if len(pattern) > MOST_CHARACTERS:
        raise BadPattern(f"more than {MOST_CHARACTERS} characters")
    options = re2.Options()
    options.log_errors, options.max_mem = False, MOST_MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise BadPattern(_sentence(error)) from None
    except UnicodeError:
        raise BadPattern("it is not text") from None


def _sentence(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    if text.startswith(("invalid perl operator", "invalid escape sequence")):
        text += " (looking ahead or behind and references to groups are not understood)"
    return text
