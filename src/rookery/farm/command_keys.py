r"""Commands that may be sent twice and are carried out once: by a key that is committed with them.

    sent --carried out, the key in the same commit--> answered
       \--the answer is lost--> sent again, the key is known --> answered from what is there now

Theory of operation. A request that may come again has a key, which is present in the task that
carries it out. The first change that the task puts takes the key along: into the term's memory, and
into the rows by the same commit. Whoever carries the command out again, in this process or as the
next primary, finds the key before it changes anything, and answers as if it had been done now. With
the key goes a digest of the body: the same key with another body is a mistake of the client, which
is told so. What was refused, or changed nothing, leaves no key: it is decided anew.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class CommandKey:
    """The key of one request; changed by the task that carries it out."""

    text: str
    repeated: bool = False
    """Whether it may have been sent before: only then rows are asked for it."""
    used: bool = False
    """Whether a change of this very request has taken it along."""
    body: str = ""
    """A digest of what the request says; empty where the key was made for this request alone."""


class KeyReused(Exception):
    """The key of a command came before, with another body."""


_PRESENT: ContextVar[CommandKey | None] = ContextVar("command key", default=None)


@contextmanager
def known_as(key: CommandKey) -> Iterator[None]:
    """What this task does within the block is one command with that key."""
    before = _PRESENT.set(key)
    try:
        yield
    finally:
        _PRESENT.reset(before)


def present_key() -> CommandKey | None:
    """The key of the command that this task carries out."""
    return _PRESENT.get()


def leave_key() -> None:
    """For a task that goes on by itself: what it does is no part of the command it began in."""
    _PRESENT.set(None)
