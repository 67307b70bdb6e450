"""The OpenAPI document of the JSON API, made from the types that its endpoints decode and
encode."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar, cast

import msgspec
from starlette.routing import BaseRoute, Route

from rookery.core import __version__
from rookery.server.http.error_table import ErrorBody
from rookery.server.http.session import COOKIE

F = TypeVar("F", bound=Callable[..., object])

_MARK = "__rookery_operation__"
_REFERENCE = "#/components/schemas/{name}"
_BEARER, _SESSION, _CSRF, _PASSWORD = "token", "session", "csrf", "password"
_SECURITY = {
    _BEARER: {"type": "http", "scheme": "bearer"},
    _SESSION: {"type": "apiKey", "in": "cookie", "name": COOKIE},
    _CSRF: {"type": "apiKey", "in": "header", "name": "X-CSRF-Token"},
    _PASSWORD: {"type": "http", "scheme": "basic"},
}
_BY_TOKEN: Mapping[str, list[str]] = {_BEARER: []}
_READING: Mapping[str, list[str]] = {_SESSION: []}
_BY_PASSWORD: Mapping[str, list[str]] = {_PASSWORD: []}
_CHANGING: Mapping[str, list[str]] = {_SESSION: [], _CSRF: []}
_PARAMETER = re.compile(r"[{](\w+)[}]")


@dataclass(frozen=True, slots=True)
class Operation:
    """What one endpoint accepts and returns. A text in `answers` is a media type without a
    schema."""

    summary: str
    answers: Mapping[int, type | str]
    body: type | None = None
    path: Mapping[str, type] = field(default_factory=dict)
    query: Mapping[str, type] = field(default_factory=dict)
    raw_body: bool = False
    """Whether the endpoint accepts bytes of any format."""
    bearer: bool = False
    """Whether the endpoint answers 401 to callers without a valid token or session."""
    find_logged_in: bool = False
    """Whether the endpoint accepts only a session, or name and password, but no token."""


def described(operation: Operation) -> Callable[[F], F]:
    """Add an endpoint to the document."""

    def mark(endpoint: F) -> F:
        setattr(endpoint, _MARK, operation)
        return endpoint

    return mark


def make_openapi(routes: Iterable[BaseRoute], *others: type) -> bytes:
    """The document as JSON. `others` are types that the types of the endpoints refer to by name."""
    found = [
        (route, operation)
        for route in routes
        if isinstance(route, Route) and (operation := operation_of(route.endpoint)) is not None
    ]
    _, components = msgspec.json.schema_components(
        [*others, *_types_in(operation for _, operation in found)], ref_template=_REFERENCE
    )
    paths: dict[str, dict[str, object]] = {}
    for route, operation in found:
        for method in sorted((route.methods or set()) - {"HEAD"}):
            entry = _entry(operation, method, route.path_format)
            paths.setdefault(route.path_format, {})[method.lower()] = entry
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Rookery", "version": __version__},
            "paths": paths,
            "components": {"schemas": components, "securitySchemes": _SECURITY},
        }
    )


def operation_of(endpoint: object) -> Operation | None:
    return cast("Operation | None", getattr(endpoint, _MARK, None))


def _types_in(operations: Iterable[Operation]) -> list[type]:
    kinds: list[type] = [ErrorBody]
    for operation in operations:
        given = (
            operation.body,
            *operation.answers.values(),
            *operation.path.values(),
            *operation.query.values(),
        )
        kinds += [kind for kind in given if isinstance(kind, type)]
    return kinds


def operation_id(method: str, path: str) -> str:
    """A function name for generated clients: `GET /api/v1/runs/{run_id}` gives
    get_runs_by_run_id."""
    words = _PARAMETER.sub(r"by_\1", path.removeprefix("/api/v1")).strip("/")
    return f"{method.lower()}_{re.sub(r'[^a-z0-9]+', '_', words.lower())}"


def find_tag(path: str) -> str:
    """The tag of an endpoint: the word after the version, `ask` for Ask's short addresses, and
    `server` for endpoints about the process."""
    if path.startswith("/api/v1/"):
        return path.split("/")[3]
    return "ask" if path.startswith(("/query", "/chat/")) else "server"


def _entry(operation: Operation, method: str, path: str) -> dict[str, object]:
    entry: dict[str, object] = {
        "operationId": operation_id(method, path),
        "tags": [find_tag(path)],
        "summary": operation.summary,
        "responses": {
            **{str(code): _answer(kind) for code, kind in operation.answers.items()},
            "default": _answer(ErrorBody),
        },
    }
    parameters = [
        *(_parameter(name, "path", kind) for name, kind in operation.path.items()),
        *(_parameter(name, "query", kind) for name, kind in operation.query.items()),
    ]
    if parameters:
        entry["parameters"] = parameters
    if operation.body is not None:
        entry["requestBody"] = {"required": True, "content": _json_content(operation.body)}
    if operation.raw_body:
        entry["requestBody"] = {"required": True, "content": {"application/octet-stream": {}}}
    if operation.bearer:
        entry["security"] = [_BY_TOKEN, _READING if method == "GET" else _CHANGING]
    if operation.find_logged_in:
        entry["security"] = [_BY_PASSWORD, _CHANGING]
    return entry


def _answer(kind: type | str) -> dict[str, object]:
    if isinstance(kind, str):
        return {"description": kind, "content": {kind: {}}}
    return {"description": (kind.__doc__ or "").strip(), "content": _json_content(kind)}


def _json_content(kind: type) -> dict[str, object]:
    return {"application/json": {"schema": _schema(kind)}}


def _parameter(name: str, place: str, kind: type) -> dict[str, object]:
    return {"name": name, "in": place, "required": place == "path", "schema": _schema(kind)}


@cache
def _schema(kind: type) -> dict[str, Any]:
    (schema,), _ = msgspec.json.schema_components([kind], ref_template=_REFERENCE)
    return schema
