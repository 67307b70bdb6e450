"""Turns errors into answers, and finds the site of a request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, cast

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Scope

from rookery.core.boundary.errors import Overloaded
from rookery.core.errors import StateAway
from rookery.core.protocol.codec import encode_timed
from rookery.core.protocol.worker_answers import OFFICIAL_VERSION, VersionAnswer, WorkerAnswer
from rookery.server.disk import DiskSpace, StorageAway
from rookery.server.http.error_table import (
    MISTAKE,
    UNEXPECTED,
    ErrorBody,
    ErrorShape,
    fault_in,
    shape_of,
    text_of,
)
from rookery.server.http.faults import (
    RETRIED_AT_NEXT_PRIMARY,
    ClientLeft,
    CsrfRefused,
    DatabaseAway,
    DiskFull,
    FilesAway,
    NotPrimary,
)
from rookery.server.http.internal_calls import AGAIN, OUR_TIME
from rookery.server.http.rendering import frame_of, theme_in
from rookery.server.http.scope import (
    BEAT_PATH,
    VERSION_PATH,
    Audience,
    RequestInfo,
    comes_from_own_page,
    header,
    method_of,
    path_of,
    query_of,
    request_info_of,
    session_of,
)
from rookery.server.http.session import CSRF_FIELD

if TYPE_CHECKING:
    from rookery.server.app.site import Site


def site_of(request: Request) -> "Site":
    return cast("Site", request.app.state.site)


# Errors as answers: JSON for programs, a page for people, plain text for a worker to try again.

_LONGEST_PATH_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ErrorView:
    """What the error page shows."""

    status: int
    title: str
    text: str
    request_id: str


@dataclass(frozen=True, slots=True)
class ExpiredFormView:
    """The content of a posted form whose session has expired. Nothing that the form asks for is
    done, and its texts are shown only to the browser that sent them."""

    action: str
    shown: tuple[tuple[str, str], ...]
    """Labels and texts, for the person to copy."""
    fields: tuple[tuple[str, str], ...]
    """All posted fields, to be sent again; empty if the form had a password."""


async def answer_error(error: Exception, scope: Scope, site: "Site") -> Response:
    """The answer to a request that failed, for any error. Also writes its log line."""
    if isinstance(error, ClientLeft):
        return _answer_nobody(error, scope, site)
    fault, headers = fault_in(error)
    if site.disk.note_error(error) or (
        site.disk.space is DiskSpace.FULL and is_database_away(error, site)
    ):
        fault = DiskFull()
    elif isinstance(error, StorageAway):
        fault = FilesAway()
    elif site.is_outage(error):
        site.log.warning("database_away", reason=repr(error))
        fault = DatabaseAway()
    elif isinstance(fault, NotPrimary) and not site.forwarder.may_forward:
        # The only process is primary unless it can't renew its lease.
        fault = DatabaseAway()
    shape, info = shape_of(fault), request_info_of(scope)
    _write_down(fault, shape, scope, info, site)
    if info.forwarded is not None and isinstance(fault, RETRIED_AT_NEXT_PRIMARY):
        return _send_elsewhere(text_of(fault), shape)
    if info.audience is Audience.PERSON:
        return await _page_or_text(fault, shape, headers, scope, site)
    if info.audience is Audience.WORKER and shape is UNEXPECTED:
        return _answer_after_bug(scope, site)
    if info.audience is Audience.WORKER and (shape.retry or path_of(scope) == VERSION_PATH):
        return _try_again(text_of(fault), info.request_id, shape)
    return _json(fault, shape, headers, scope, site)


def is_database_away(error: Exception, site: "Site") -> bool:
    """Whether the database is unavailable, or its content is being read again into memory."""
    return isinstance(error, StateAway) or site.is_outage(error)


def stopping_answer() -> Response:
    """The answer to requests that arrive during a stop, or that the stop can't wait for any
    longer."""
    headers = {"retry-after": "5", "connection": "close", AGAIN.decode(): "1"}
    return PlainTextResponse("The server is stopping. Try again in a moment.\n", 503, headers)


def outdated_answer(now: datetime) -> Response:
    """The answer to a forwarded call whose header is from another time. The instance that sent it
    goes on looking for a primary, and tells its operator what our clock says."""
    headers = {"retry-after": "5", AGAIN.decode(): "1", OUR_TIME.decode(): now.isoformat()}
    text = f"The clocks of these servers disagree; here it is {now.isoformat()}.\n"
    return PlainTextResponse(text, 503, headers)


def busy_answer() -> Response:
    """The answer to requests of people when too many wait, made without any of their work."""
    text = "The server is busy. Try again in a moment.\n"
    return PlainTextResponse(text, 503, {"retry-after": "5"})


def _answer_nobody(error: ClientLeft, scope: Scope, site: "Site") -> Response:
    """The answer to a request that was broken off, as happens to workers and browsers every day."""
    shape, info = shape_of(error), request_info_of(scope)
    path = path_of(scope)[:_LONGEST_PATH_SHOWN]
    site.log.debug("request_broken_off", path=path, client=info.client, request=info.request_id)
    return PlainTextResponse(f"{error}\n", shape.status)


def _send_elsewhere(text: str, shape: ErrorShape) -> Response:
    """An answer to another instance, which then asks the next primary by itself."""
    headers = {**shape.headers, AGAIN.decode(): "1"}
    return PlainTextResponse(f"{text}\n", shape.status, headers)


def _try_again(text: str, request_id: str, shape: ErrorShape) -> Response:
    """An answer that is not JSON, so that a worker waits and repeats its call."""
    headers = {"retry-after": "5", **shape.headers}
    return PlainTextResponse(f"{text} (request {request_id})\n", shape.status, headers)


def _answer_after_bug(scope: Scope, site: "Site") -> Response:
    """The answer to a worker's call that failed by a mistake of the server. It is JSON, without
    `error` where a worker would act on that."""
    info, path = request_info_of(scope), path_of(scope)
    why = f"{path}: {MISTAKE} (request {info.request_id})"
    seconds = max(0.0, site.clock.seconds() - info.started)
    content = encode_timed(_FORGIVING.get(path, _refusing)(why), seconds=seconds)
    return Response(content, UNEXPECTED.status, media_type="application/json")


def _refusing(why: str) -> WorkerAnswer:
    return WorkerAnswer(error=why)


_FORGIVING: Mapping[str, Callable[[str], WorkerAnswer]] = {
    # An `error` makes a worker exit here, and give up its task on the next path.
    VERSION_PATH: lambda why: VersionAnswer(version=OFFICIAL_VERSION, info=why),
    BEAT_PATH: lambda why: WorkerAnswer(info=why),
}


def _json(
    fault: Exception, shape: ErrorShape, headers: Mapping[str, str], scope: Scope, site: "Site"
) -> Response:
    info, path = request_info_of(scope), path_of(scope)
    text = text_of(fault) + (f" (request {info.request_id})" if shape is UNEXPECTED else "")
    body = ErrorBody(
        error=f"{path[:_LONGEST_PATH_SHOWN]}: {text}",
        duration=max(0.0, site.clock.seconds() - info.started),
        detail="Not Found" if shape.status == 404 else "",
    )
    content = msgspec.json.encode(body)
    return Response(content, shape.status, {**shape.headers, **headers}, "application/json")


async def _page_or_text(
    fault: Exception, shape: ErrorShape, headers: Mapping[str, str], scope: Scope, site: "Site"
) -> Response:
    """A page; plain text while too many pages wait to be rendered."""
    try:
        return await _page(fault, shape, headers, scope, site)
    except Overloaded:
        return PlainTextResponse(f"{text_of(fault)}\n", shape.status, {**shape.headers, **headers})


async def _page(
    fault: Exception, shape: ErrorShape, headers: Mapping[str, str], scope: Scope, site: "Site"
) -> Response:
    frame = frame_of(session_of(scope), theme=theme_in(header(scope, b"cookie")))
    view: ErrorView | ExpiredFormView
    if isinstance(fault, CsrfRefused) and (kept := _find_typed(scope)):
        template, view = "expired_form.html", kept
    else:
        request_id = request_info_of(scope).request_id
        template, view = (
            "error.html",
            ErrorView(shape.status, shape.title, text_of(fault), request_id),
        )
    text = await site.threads.cpu(site.templates.render, template, frame, view)
    return HTMLResponse(text, shape.status, {**shape.headers, **headers})


def _find_typed(scope: Scope) -> ExpiredFormView | None:
    """The content of a form of this site; None if nothing was typed or another site sent it."""
    if not comes_from_own_page(scope):
        return None
    fields = tuple(each for each in request_info_of(scope).form.fields if each[0] != CSRF_FIELD)
    open_fields = tuple(each for each in fields if "password" not in each[0])
    shown = tuple((_spell(name), text) for name, text in open_fields if text.strip())
    if not shown:
        return None
    return ExpiredFormView(_target_of(scope), shown, fields if fields == open_fields else ())


def _target_of(scope: Scope) -> str:
    query = query_of(scope).decode("latin-1")
    return f"{path_of(scope)}?{query}" if query else path_of(scope)


def _spell(name: str) -> str:
    """The name of an input as a label for people."""
    return name[:1].upper() + name[1:].replace("_", " ").replace("-", " ")


def _write_down(
    fault: Exception, shape: ErrorShape, scope: Scope, info: RequestInfo, site: "Site"
) -> None:
    fields = {
        "status": shape.status,
        "method": method_of(scope),
        "path": path_of(scope)[:_LONGEST_PATH_SHOWN],
        "client": info.client,
        "request": info.request_id,
        "why": type(fault).__name__,
    }
    if shape is UNEXPECTED:
        site.log.error("request_failed", **fields, exc_info=fault)
    elif shape.status in {404, 405}:
        site.log.info("request_refused", **fields)
    else:
        site.log.warning("request_refused", **fields)


def address_of(request: Request) -> str:
    """The address at which people and machines reach this server, without a trailing slash."""
    return site_of(request).settings.base_url or str(request.base_url).rstrip("/")
