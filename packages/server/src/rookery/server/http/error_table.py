"""The one table of errors: how each is answered, whoever asks.

An error is looked up by its class and then by its base classes, so nothing translates errors on
their way out of a feature. `answers.answer_error` makes the answer for people, programs and workers
of what stands here; a page that shows a refusal beside its form catches REFUSALS and takes the
words from `describe_refusal`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException

from rookery.core.boundary.errors import BridgeError, GateFull, Overloaded
from rookery.core.errors import (
    BadInput,
    Busy,
    LoginNeeded,
    NoModel,
    NotAllowed,
    NotNow,
    NotThere,
    Refusal,
    StateAway,
    TooLarge,
    TooOften,
    make_sentence,
)
from rookery.core.model.run import RunFault
from rookery.server.http.faults import (
    BadHost,
    BadRequest,
    BodyTooLarge,
    BodyTooSlow,
    ClientLeft,
    Conflict,
    DatabaseAway,
    DiskFull,
    FilesAway,
    Forbidden,
    HeadersTooLarge,
    HttpFault,
    MethodNotAllowed,
    ModelFailed,
    NotFound,
    OtherBody,
    PathTooLong,
    SearchTooSlow,
    TooManyRequests,
    Unauthorized,
    Unavailable,
)


class ErrorBody(msgspec.Struct, omit_defaults=True):
    """The wire shape of every error to a program. Workers die without `duration`."""

    error: str
    duration: float
    # What the official server says about unknown addresses; some scripts look for it.
    detail: str = ""


def spell(error: Exception) -> str:
    """The text of an error as a sentence; faults of runs are not whole ones yet."""
    return make_sentence(error) if isinstance(error, RunFault) else str(error)


@dataclass(frozen=True, slots=True)
class ErrorShape:
    """How one kind of error is answered.

    `retry` means that the caller made no mistake. A worker then gets no JSON, because it would take
    a JSON error as final for its account or its task and give up instead of trying again.
    """

    status: int
    title: str
    retry: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    text: Callable[[Exception], str] = spell
    """Makes the text that the client reads."""

    def saying(self, text: str) -> "ErrorShape":
        """This shape with a fixed text, for errors whose own says too much or too little."""
        return replace(self, text=lambda _error: text)


MISTAKE = "The server made a mistake. The error is in its log."
_READING = (
    "The database could not be reached; the server is reading its state again. Try again in a"
    " moment."
)
UNEXPECTED = ErrorShape(500, "Something went wrong here").saying(MISTAKE)
_BAD = ErrorShape(400, "Bad request")
_LOGIN = ErrorShape(401, "Please log in", headers={"www-authenticate": "Bearer"})
_FORBIDDEN = ErrorShape(403, "Not allowed")
_NOT_THERE = ErrorShape(404, "Nothing here")
_CONFLICT = ErrorShape(409, "Not possible now")
_TOO_LARGE = ErrorShape(413, "Too large")
_TOO_MANY = ErrorShape(429, "Too many requests", retry=True, headers={"retry-after": "60"})
_NO_MODEL = ErrorShape(502, "The model does not answer", retry=True)
_LATER = ErrorShape(503, "Not available right now", retry=True, headers={"retry-after": "5"})
_AWAY = replace(_LATER, title="The database can't be reached")
_BUSY = replace(_LATER, title="Too busy right now").saying(
    "The server is busy. Try again in a moment."
)

REFUSED: Mapping[type[Exception], ErrorShape] = {
    BadInput: _BAD,
    LoginNeeded: _LOGIN,
    NotAllowed: _FORBIDDEN,
    NotThere: _NOT_THERE,
    NotNow: _CONFLICT,
    TooLarge: _TOO_LARGE,
    TooOften: _TOO_MANY.saying(str(TooManyRequests())),
    NoModel: _NO_MODEL,
    BridgeError: _LATER.saying(str(Unavailable())),
}
"""What features refuse, by the kind of refusal."""

TABLE: Mapping[type[Exception], ErrorShape] = {
    BadRequest: _BAD,
    # After a change of the server's name, workers must not give up.
    BadHost: ErrorShape(400, "Unknown host name", retry=True),
    ClientLeft: ErrorShape(400, "Broken off"),
    Unauthorized: _LOGIN,
    Forbidden: _FORBIDDEN,
    NotFound: _NOT_THERE,
    MethodNotAllowed: ErrorShape(405, "Method not allowed"),
    Conflict: _CONFLICT,
    OtherBody: ErrorShape(422, "Idempotency-Key was used before"),
    BodyTooSlow: ErrorShape(408, "Too slow", retry=True, headers={"connection": "close"}),
    BodyTooLarge: _TOO_LARGE,
    PathTooLong: ErrorShape(414, "Address too long"),
    TooManyRequests: _TOO_MANY,
    HeadersTooLarge: ErrorShape(431, "Headers too large"),
    Unavailable: _LATER,
    ModelFailed: _NO_MODEL,
    DatabaseAway: _AWAY,
    SearchTooSlow: ErrorShape(
        503, "The search took too long", retry=True, headers={"retry-after": "60"}
    ),
    DiskFull: ErrorShape(503, "The disk is full", retry=True, headers={"retry-after": "60"}),
    FilesAway: ErrorShape(
        503, "The files can't be reached", retry=True, headers={"retry-after": "15"}
    ),
    Overloaded: _BUSY,
    GateFull: _BUSY,
    Busy: _BUSY,
    StateAway: _AWAY.saying(_READING),
    **REFUSED,
    Exception: UNEXPECTED,
}

_BY_STATUS: Mapping[int, type[HttpFault]] = {
    400: BadRequest,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    413: BodyTooLarge,
    503: Unavailable,
}


def shape_of(error: Exception) -> ErrorShape:
    return next(TABLE[kind] for kind in type(error).__mro__ if kind in TABLE)


def text_of(error: Exception) -> str:
    """The text that the client reads. For an unexpected error it reveals nothing about the
    error."""
    return shape_of(error).text(error)


def fault_in(error: Exception) -> tuple[Exception, Mapping[str, str]]:
    """The framework's refusals as faults of ours, with the headers that they bring, such as
    Allow."""
    if not isinstance(error, HTTPException):
        return error, {}
    kind = _BY_STATUS.get(error.status_code, BadRequest)
    own_words = error.detail and error.detail != HTTPStatus(error.status_code).phrase
    return kind(error.detail) if own_words else kind(), error.headers or {}


# For pages, which show a refusal beside the form that was refused.

REFUSALS = (HttpFault, Refusal, BridgeError)
"""Every refusal of HTTP or of a feature."""


@dataclass(frozen=True, slots=True)
class ShownRefusal:
    """A refusal in the words for a person, and its status."""

    text: str
    status: int


def describe_refusal(error: Exception) -> ShownRefusal:
    shape = shape_of(error)
    return ShownRefusal(shape.text(error), shape.status)
