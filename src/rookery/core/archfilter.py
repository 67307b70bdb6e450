"""Architecture filters: a regular expression over a worker's architecture that can't run away.

Python can't stop a search that backtracks for ever, so that the patterns which could make it do so
are refused when a run is created: a repeated group, a back-reference, more than a few repetitions.
"""

import functools
import re

MOST_CHARACTERS = 120
MOST_REPEATS = 3
MOST_SUBJECT = 64
"""Characters of an architecture that are looked at."""

_REPEAT = re.compile(r"(?<!\\)(?:[*+]|\{)")
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[*+?{]")
_REFERENCE = re.compile(r"\\[1-9]|\(\?P=|\(\?\(")


class BadArchFilter(ValueError):
    """the architecture filter is not a pattern that can be used: {why}"""

    def __init__(self, why: str) -> None:
        super().__init__((type(self).__doc__ or "").format(why=why))


def check(pattern: str) -> None:
    """Raise BadArchFilter unless the pattern is sound and cheap."""
    if len(pattern) > MOST_CHARACTERS:
        raise BadArchFilter(f"more than {MOST_CHARACTERS} characters")
    if _REPEATED_GROUP.search(pattern) or _REFERENCE.search(pattern):
        raise BadArchFilter("repeated groups and references are not allowed")
    if len(_REPEAT.findall(pattern)) > MOST_REPEATS:
        raise BadArchFilter(f"more than {MOST_REPEATS} repetitions")
    try:
        re.compile(pattern)
    except re.error as error:
        raise BadArchFilter(str(error)) from None


@functools.lru_cache(maxsize=4096)
def matches(pattern: str, arch: str) -> bool:
    """Whether the filter lets this architecture through; a bad filter lets nobody through."""
    try:
        check(pattern)
    except BadArchFilter:
        return False
    return re.search(pattern, arch[:MOST_SUBJECT]) is not None
