"""What the app makes for itself out of the house; endpoints and middleware are given it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import Scope

from rookery.caches import Remembered
from rookery.farm.ports import Contribution, Rebuilding, StateLost
from rookery.files.disk import Room
from rookery.people.login import Login
from rookery.protocol.codec import encode_timed
from rookery.protocol.worker_answers import OFFICIAL_VERSION, Answer, VersionAnswer
from rookery.web.faults import (
    MISTAKE,
    UNEXPECTED,
    DatabaseAway,
    DiskFull,
    ErrorBody,
    NotFound,
    Shape,
    fault_in,
    shape_of,
    text_of,
)
from rookery.web.house import House
from rookery.web.metrics import Traffic
from rookery.web.rendering import Assets, Templates, frame_of
from rookery.web.scope import (
    BEAT_PATH,
    VERSION_PATH,
    Audience,
    Facts,
    facts_of,
    method_of,
    path_of,
    session_of,
)
from rookery.web.session import Seal, Standing
from rookery.web.steps import Readiness


@dataclass(frozen=True, slots=True)
class Kit:
    """One per app."""

    house: House
    assets: Assets
    templates: Templates
    traffic: Traffic
    seal: Seal
    readiness: Readiness
    standing: Standing
    login: Login
    contributions: Remembered[str, tuple[Contribution, ...]]
    """By run, for a moment: they are summed up over all its tasks."""


def kit_of(request: Request) -> Kit:
    return cast("Kit", request.app.state.kit)


# Errors as answers: JSON for programs, a page for people, plain text for a worker to try again.

_LONGEST_PATH_SHOWN = 200


@dataclass(frozen=True, slots=True)
class ErrorView:
    """The error page."""

    status: int
    title: str
    text: str
    request_id: str


async def answer_to(error: Exception, scope: Scope, kit: Kit) -> Response:
    """The answer to a request that failed, whatever failed it, and its log line."""
    fault, headers = fault_in(error)
    if kit.house.disk.note(error) or (kit.house.disk.room is Room.FULL and is_away(error, kit)):
        fault = DiskFull()
    elif kit.house.api.is_outage(error):
        kit.house.log.warning("database_away", reason=repr(error))
        fault = DatabaseAway()
    shape, facts = shape_of(fault), facts_of(scope)
    _write_down(fault, shape, scope, facts, kit)
    if facts.audience is Audience.PERSON:
        return await _page(fault, shape, headers, scope, kit)
    if facts.audience is Audience.WORKER and shape is UNEXPECTED:
        return _mistake(scope, kit)
    if facts.audience is Audience.WORKER and (shape.retry or path_of(scope) == VERSION_PATH):
        return _try_again(text_of(fault), facts.request_id, shape)
    return _json(fault, shape, headers, scope, kit)


def is_away(error: Exception, kit: Kit) -> bool:
    """Whether the database can't be used, or what it holds is read anew."""
    return isinstance(error, StateLost | Rebuilding) or kit.house.api.is_outage(error)


def stopping() -> Response:
    """For requests that come while the process stops, or that it can't wait for any longer."""
    headers = {"retry-after": "5", "connection": "close"}
    return PlainTextResponse("The server is stopping. Try again in a moment.\n", 503, headers)


def _try_again(text: str, request_id: str, shape: Shape) -> Response:
    """Not JSON, so that a worker waits and repeats its call."""
    headers = {"retry-after": "5", **shape.headers}
    return PlainTextResponse(f"{text} (request {request_id})\n", shape.status, headers)


def _mistake(scope: Scope, kit: Kit) -> Response:
    """Of ours, to a worker: JSON, and no `error` where that would be taken for a verdict."""
    facts, path = facts_of(scope), path_of(scope)
    why = f"{path}: {MISTAKE} (request {facts.request_id})"
    seconds = max(0.0, kit.house.clock.seconds() - facts.started)
    content = encode_timed(_FORGIVING.get(path, _refusing)(why), seconds=seconds)
    return Response(content, UNEXPECTED.status, media_type="application/json")


def _refusing(why: str) -> Answer:
    return Answer(error=why)


_FORGIVING: Mapping[str, Callable[[str], Answer]] = {
    # It ends at an error here, and gives its task up at one there.
    VERSION_PATH: lambda why: VersionAnswer(version=OFFICIAL_VERSION, info=why),
    BEAT_PATH: lambda why: Answer(info=why),
}


def _json(
    fault: Exception, shape: Shape, headers: Mapping[str, str], scope: Scope, kit: Kit
) -> Response:
    facts, path = facts_of(scope), path_of(scope)
    text = text_of(fault) + (f" (request {facts.request_id})" if shape is UNEXPECTED else "")
    body = ErrorBody(
        error=f"{path[:_LONGEST_PATH_SHOWN]}: {text}",
        duration=max(0.0, kit.house.clock.seconds() - facts.started),
        detail="Not Found" if isinstance(fault, NotFound) else "",
    )
    content = msgspec.json.encode(body)
    return Response(content, shape.status, {**shape.headers, **headers}, "application/json")


async def _page(
    fault: Exception, shape: Shape, headers: Mapping[str, str], scope: Scope, kit: Kit
) -> Response:
    view = ErrorView(shape.status, shape.title, text_of(fault), facts_of(scope).request_id)
    frame = frame_of(session_of(scope))
    text = await kit.house.threads.cpu(kit.templates.render, "error.html", frame, view)
    return HTMLResponse(text, shape.status, {**shape.headers, **headers})


def _write_down(fault: Exception, shape: Shape, scope: Scope, facts: Facts, kit: Kit) -> None:
    fields = {
        "status": shape.status,
        "method": method_of(scope),
        "path": path_of(scope)[:_LONGEST_PATH_SHOWN],
        "client": facts.client,
        "request": facts.request_id,
        "why": type(fault).__name__,
    }
    if shape is UNEXPECTED:
        kit.house.log.error("request_failed", **fields, exc_info=fault)
    elif shape.status in {404, 405}:
        kit.house.log.info("request_refused", **fields)
    else:
        kit.house.log.warning("request_refused", **fields)


def address_of(request: Request) -> str:
    """Where people and machines reach this server, without a slash at its end."""
    return kit_of(request).house.base_url or str(request.base_url).rstrip("/")
