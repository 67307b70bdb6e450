"""All reasons for which a request can be refused, and the table that says how each is answered.

A fault's docstring is the text that the client reads. The table is looked up by class and then by
base classes, so that errors of other rooms find their entry too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException

from rookery.core.boundary.errors import GateFull, Overloaded
from rookery.core.errors import message_in_docstring
from rookery.server.farm.commits import QueueFull, StateLost
from rookery.server.farm.primary import Rebuilding


class HttpFault(Exception):
    """The request can't be answered."""

    def __str__(self) -> str:
        return super().__str__() or message_in_docstring(type(self))


class BadRequest(HttpFault):
    """The request can't be understood."""


class MalformedForm(BadRequest):
    """The form can't be read."""


class FieldsTooLate(MalformedForm):
    """The fields of this form have to come before its file."""


class BadHost(BadRequest):
    """This server does not answer to that host name. Its operator can allow the name."""


class BadPath(BadRequest):
    """The address holds characters that are never part of one."""


class ForeignBody(BadRequest):
    """The body is not the one with which this call was forwarded."""


class OtherBody(HttpFault):
    """This Idempotency-Key was used before, with another body. Nothing was done: send the same body
    again, or a new key."""


class Unauthorized(HttpFault):
    """This needs a valid token: send `Authorization: Bearer ...`. A session works as well; for
    changes send its token as `X-CSRF-Token`."""


class Forbidden(HttpFault):
    """You may not do this."""


class CsrfRefused(Forbidden):
    """The form has expired or came from another site. Load the page again and repeat."""


class NotFound(HttpFault):
    """There is nothing at this address."""


class MethodNotAllowed(HttpFault):
    """This address does not take that method."""


class Conflict(HttpFault):
    """The present state does not allow this."""


class BodyTooSlow(HttpFault):
    """The body did not arrive in time."""


class ClientLeft(HttpFault):
    """The connection was closed before the body was whole."""


class BodyTooLarge(HttpFault):
    """The body is larger than this address takes."""


class PathTooLong(HttpFault):
    """The address is too long."""


class TooManyRequests(HttpFault):
    """Too many attempts; wait a little."""


class HeadersTooLarge(HttpFault):
    """The request's headers are too large or too many."""


class Unavailable(HttpFault):
    """The server can't answer right now; try again in a moment."""


class AskBusy(Unavailable):
    """This server is answering as many questions as it can; try again in a moment."""


class ModelFailed(HttpFault):
    """The language model did not give a complete answer."""


class TooManyBodies(Unavailable):
    """Too many large uploads arrive at once; try again in a moment."""


class NotPrimary(Unavailable):
    """This server is not the primary. Try again in a moment."""


RETRIED_AT_NEXT_PRIMARY = (NotPrimary, Rebuilding, StateLost)
"""Errors after which the call may be sent to the next primary: nothing was decided here, or it is
unknown what was."""


class DatabaseAway(Unavailable):
    """The database can't be reached right now. Nothing that was confirmed is lost; try again in a
    moment."""


class SearchTooSlow(Unavailable):
    """The search took too long. Ask for less: a shorter time, one user or one test."""


class DiskFull(Unavailable):
    """The server's disk is full, except for a reserve for its database. Nothing that was confirmed
    is lost. The server continues by itself once its operator has made room."""


class FilesAway(Unavailable):
    """The storage of files can't be reached right now. Nothing that was confirmed is lost; try
    again in a moment."""


class ErrorBody(msgspec.Struct, omit_defaults=True):
    """The wire shape of every error to a program. Workers die without `duration`."""

    error: str
    duration: float
    # What the official server says about unknown addresses; some scripts look for it.
    detail: str = ""


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


_BUSY = ErrorShape(503, "Too busy right now", retry=True, headers={"retry-after": "5"})
_AWAY = ErrorShape(503, "The database can't be reached", retry=True, headers={"retry-after": "5"})
UNEXPECTED = ErrorShape(500, "Something went wrong here")
MISTAKE = "The server made a mistake. The error is in its log."

TABLE: Mapping[type[Exception], ErrorShape] = {
    BadRequest: ErrorShape(400, "Bad request"),
    # After a change of the server's name, workers must not give up.
    BadHost: ErrorShape(400, "Unknown host name", retry=True),
    ClientLeft: ErrorShape(400, "Broken off"),
    Unauthorized: ErrorShape(401, "Please log in", headers={"www-authenticate": "Bearer"}),
    Forbidden: ErrorShape(403, "Not allowed"),
    NotFound: ErrorShape(404, "Nothing here"),
    MethodNotAllowed: ErrorShape(405, "Method not allowed"),
    Conflict: ErrorShape(409, "Not possible now"),
    OtherBody: ErrorShape(422, "Idempotency-Key was used before"),
    BodyTooSlow: ErrorShape(408, "Too slow", retry=True, headers={"connection": "close"}),
    BodyTooLarge: ErrorShape(413, "Too large"),
    PathTooLong: ErrorShape(414, "Address too long"),
    TooManyRequests: ErrorShape(
        429, "Too many requests", retry=True, headers={"retry-after": "60"}
    ),
    HeadersTooLarge: ErrorShape(431, "Headers too large"),
    Unavailable: ErrorShape(
        503, "Not available right now", retry=True, headers={"retry-after": "5"}
    ),
    ModelFailed: ErrorShape(502, "The model does not answer", retry=True),
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
    Rebuilding: _AWAY,
    StateLost: _AWAY,
    QueueFull: _BUSY,
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


def fault_in(error: Exception) -> tuple[Exception, Mapping[str, str]]:
    """The framework's refusals as faults of ours, with the headers that they bring, such as
    Allow."""
    if not isinstance(error, HTTPException):
        return error, {}
    kind = _BY_STATUS.get(error.status_code, BadRequest)
    own_words = error.detail and error.detail != HTTPStatus(error.status_code).phrase
    return kind(error.detail) if own_words else kind(), error.headers or {}


def text_of(error: Exception) -> str:
    """The text that the client reads. For an unexpected error it reveals nothing about the
    error."""
    if isinstance(error, HttpFault):
        return str(error)
    if shape_of(error) is UNEXPECTED:
        return MISTAKE
    if shape_of(error) is _AWAY:
        return (
            "The database could not be reached; the server is reading its state again. Try again"
            " in a moment."
        )
    return "The server is busy. Try again in a moment."
