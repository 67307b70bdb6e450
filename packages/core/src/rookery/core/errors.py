"""Base classes of errors whose message is meant for users, and the description of exit codes."""

import signal
from typing import ClassVar


class Complaint(Exception):
    """An error that the user can fix. Its text is a whole sentence; the command line prints it and
    exits with the exit code."""

    exit_code: ClassVar[int] = 3


class Refusal(Exception):
    """What a feature refuses. Its kind, one of those below, says how that is answered; one table
    makes a status of it (`server/http/error_table.py`)."""


class BadInput(Refusal):
    """Something given can't be used."""


class LoginNeeded(Refusal):
    """It is not known who asks."""


class NotAllowed(Refusal):
    """Who asks may not do this."""


class NotThere(Refusal):
    """What is asked for is not there, or not for whoever asks."""


class NotNow(Refusal):
    """The state of things does not allow it."""


class TooLarge(Refusal):
    """Something given is too large."""


class TooOften(Refusal):
    """It was asked for too often."""


class NoModel(Refusal):
    """A language model did not answer."""


class Busy(Exception):
    """Too much is waiting already."""


class StateAway(Exception):
    """What is known can't be told right now; nothing was decided."""


SHELL_SIGNAL = 128
"""Shells and our sandbox report a program that was ended by a signal with this plus the signal's
number."""


def describe_exit(code: int) -> str:
    """Describe how a program ended by its return code; a negative one is a signal."""
    names = {int(each): each.name for each in signal.Signals}
    if code < 0:
        return f"was killed by signal {names.get(-code, -code)}"
    inner = names.get(code - SHELL_SIGNAL)
    return f"ended with exit code {code}" + (f" (killed by signal {inner})" if inner else "")


def make_sentence(words: object) -> str:
    """Return a text such as an error's message as a sentence, with a capital and a full stop."""
    text = str(words)
    return f"{text[:1].upper()}{text[1:]}."


def message_in_docstring(error: type[Exception]) -> str:
    """Return the docstring of a class of errors, on one line."""
    return " ".join((error.__doc__ or "").split())


class Fault(Exception):
    """something is wrong"""  # the message, unless a text is given

    def __init__(self, text: str = "", /, **fields: object) -> None:
        self.fields = fields
        template = text or message_in_docstring(type(self))
        super().__init__(template.format(**fields) if fields or not text else text)
