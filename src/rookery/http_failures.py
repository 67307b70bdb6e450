"""Why calls over HTTP fail: the errors of the client, and the causes behind the library's own."""

import contextlib
from collections.abc import Iterator

import urllib3

from rookery.errors import Complaint


class CallFailed(Complaint):
    """A call over HTTP that did not bring what it was made for."""


class NoAnswer(CallFailed):
    """There is no answer, or none that can be read: another attempt may bring one."""

    def __init__(self, sentence: str = "", reason: str = "") -> None:
        super().__init__(sentence)
        self.reason = reason
        """Why, in a few words."""


class CallRefused(CallFailed):
    """The server answered, and the answer is no."""

    def __init__(self, sentence: str = "", status: int = 0, text: str = "") -> None:
        super().__init__(sentence)
        self.status = status
        self.text = text
        """The server's own words."""


class UnsafeAnswer(CallRefused):
    """An answer that is not taken: too large, or from this machine's own network."""


def too_large(most_bytes: int) -> UnsafeAnswer:
    return UnsafeAnswer(f"A file is larger than {most_bytes / 2**20:.0f} MiB")


@contextlib.contextmanager
def failing(what: str) -> Iterator[None]:
    """Whatever goes wrong is NoAnswer, with the cause behind the library's own errors."""
    try:
        yield
    except (OSError, ValueError, urllib3.exceptions.HTTPError) as error:
        reason = reason_of(error)
        raise NoAnswer(f"{what}: {reason}", reason) from cause_of(error)


def cause_of(error: BaseException) -> BaseException:
    """What is inside of the library's own error, which says little."""
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
