"""Base classes of errors whose message is meant for users, and the description of exit codes."""

import signal
from typing import ClassVar


class Complaint(Exception):
    """An error that the user can fix. Its text is a whole sentence; the command line prints it and
    exits with the exit code."""

    exit_code: ClassVar[int] = 3


SHELL_SIGNAL = 128
"""Shells and our sandbox report a program that was ended by a signal with this plus the signal's
number."""


def describe_exit(code: int) -> str:
    """Describes how a program ended by its return code; a negative one is a signal."""
    names = {int(each): each.name for each in signal.Signals}
    if code < 0:
        return f"was killed by signal {names.get(-code, -code)}"
    inner = names.get(code - SHELL_SIGNAL)
    return f"ended with exit code {code}" + (f" (killed by signal {inner})" if inner else "")


def make_sentence(words: object) -> str:
    """A text such as an error's message as a sentence, with a capital and a full stop."""
    text = str(words)
    return f"{text[:1].upper()}{text[1:]}."


# Errors whose docstring is their message.


def message_in_docstring(error: type[Exception]) -> str:
    """The docstring of a class of errors, on one line."""
    return " ".join((error.__doc__ or "").split())


class Fault(Exception):
    """something is wrong"""

    def __init__(self, **fields: object) -> None:
        self.fields = fields
        super().__init__(message_in_docstring(type(self)).format(**fields))
