"""Why HTTP calls fail: the client's errors, and the causes inside urllib3's."""

import contextlib
from collections.abc import Iterator

import urllib3

from rookery.core.errors import Complaint


class CallFailed(Complaint):
    """An HTTP call failed."""


class NoAnswer(CallFailed):
    """There is no answer, or no readable one; another attempt may succeed."""

    def __init__(self, sentence: str = "", reason: str = "") -> None:
        super().__init__(sentence)
        self.reason = reason
        """Why, in a few words."""


class CallRefused(CallFailed):
    """The server refused the call."""

    def __init__(self, sentence: str = "", status: int = 0, text: str = "") -> None:
        super().__init__(sentence)
        self.status = status
        self.text = text
        """The server's own words."""


class UnsafeAnswer(CallRefused):
    """The answer is rejected: it is too large, or comes from this machine's own network."""


def too_large(most_bytes: int) -> UnsafeAnswer:
    return UnsafeAnswer(f"A file is larger than {most_bytes / 2**20:.0f} MiB")


@contextlib.contextmanager
def failing(what: str) -> Iterator[None]:
    """Turn errors of the network or urllib3 in the block into NoAnswer, with their real cause."""
    try:
        yield
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        reason = reason_of(error)
        raise NoAnswer(f"{what}: {reason}", reason) from cause_of(error)


def cause_of(error: BaseException) -> BaseException:
    """Return the cause inside an error of urllib3, whose own message says little."""
    while isinstance(error, urllib3.exceptions.HTTPError):
        inside = (error.__cause__, *reversed(error.args))
        inner = next((each for each in inside if isinstance(each, Exception)), None)
        if inner is None:
            break
        error = inner
    return error


def reason_of(error: BaseException) -> str:
    """Why a call failed, in a few words."""
    cause = cause_of(error)
    if isinstance(cause, TimeoutError | urllib3.exceptions.TimeoutError):
        return "it takes too long"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror
    return str(cause) or type(cause).__name__
