"""The reasons for which HTTP itself can refuse a request. A fault's docstring is the text that the
client reads; `web/error_table.py` says how each is answered."""

from rookery.core.errors import StateAway, message_in_docstring


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


RETRIED_AT_NEXT_PRIMARY = (NotPrimary, StateAway)
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
