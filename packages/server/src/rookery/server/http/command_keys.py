r"""Makes sure that a command sent twice is carried out once, by a key that is committed with it.

    sent --carried out, the key in the same commit--> answered
       \--the answer is lost--> sent again, the key is known --> answered from what is there now

Theory of operation. A request that may be repeated has a key, held in a context variable of the
asyncio task that carries it out. The first change that the task puts records the key, in the term's
memory and, by the same commit, in a row. When the command comes again, to this process or to the
next primary, the key is found before anything changes, and the answer is given as if the command
had been done now. A digest of the body is kept with the key: the same key with another body is a
mistake of the client and is refused. A command that was refused or changed nothing leaves no key
and is decided anew.
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
    """Whether the request may have been sent before; only then are the rows asked for the key."""
    used: bool = False
    """Whether a change of this request has already recorded the key."""
    body: str = ""
    """A digest of the request's body; empty where the key was made for this one request."""


class KeyReused(Exception):
    """The key of a command came before, with another body."""


_PRESENT: ContextVar[CommandKey | None] = ContextVar("command key", default=None)


@contextmanager
def command_key_scope(key: CommandKey) -> Iterator[None]:
    """Gives the commands that the current task carries out within the block this key."""
    before = _PRESENT.set(key)
    try:
        yield
    finally:
        _PRESENT.reset(before)


def current_key() -> CommandKey | None:
    """The key of the command that this task carries out."""
    return _PRESENT.get()


def clear_key() -> None:
    """Drops the key in a background task: its later changes do not belong to the command that
    started it."""
    _PRESENT.set(None)
