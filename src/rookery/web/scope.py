"""Typed reading of an ASGI scope, so that nobody else looks into that dictionary."""

from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, cast

from starlette.applications import Starlette
from starlette.routing import Match, Route
from starlette.types import Message, Scope

from rookery.web.forms import Form
from rookery.web.paths import Audience, audience_of
from rookery.web.session import Session

Headers = list[tuple[bytes, bytes]]

_FACTS = "rookery.facts"
_SESSION = "rookery.session"


@dataclass(slots=True)
class Facts:
    """What is known of one request from its first moment; filled in on its way inwards."""

    request_id: str
    started: float
    client: str
    secure: bool
    audience: Audience
    proxied: bool = False
    """Whether a trusted proxy handed the request on: what such a one adds may be believed."""

    form: Form = field(default_factory=Form)


def is_http(scope: Scope) -> bool:
    return bool(scope["type"] == "http")


def path_of(scope: Scope) -> str:
    return cast("str", scope["path"])


def raw_path_of(scope: Scope) -> bytes:
    """The path as it was sent, before percent signs were resolved."""
    return cast("bytes", scope.get("raw_path") or b"")


def query_of(scope: Scope) -> bytes:
    return cast("bytes", scope.get("query_string", b""))


def method_of(scope: Scope) -> str:
    return cast("str", scope["method"])


def audience_in(scope: Scope) -> Audience:
    return audience_of(path_of(scope))


def http_version_of(scope: Scope) -> str:
    return cast("str", scope.get("http_version", "1.1"))


def peer_of(scope: Scope) -> str:
    """The address at the other end of the connection."""
    client = scope.get("client")
    return cast("str", client[0]) if client else ""


def scheme_of(scope: Scope) -> str:
    return cast("str", scope.get("scheme", "http"))


def headers_of(scope: Scope) -> Headers:
    return cast("Headers", scope["headers"])


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for key, value in headers_of(scope) if key == name]


def header(scope: Scope, name: bytes) -> str:
    """The first header of that name, or an empty text."""
    return next((value.decode("latin-1") for key, value in headers_of(scope) if key == name), "")


def template_of(scope: Scope) -> str:
    """The route's pattern, which is bounded in number where paths are not."""
    return cast("str", getattr(scope.get("route"), "path", "(none)"))


def leads_somewhere(scope: Scope) -> bool:
    """Whether an endpoint takes this request, as opposed to a 404 or 405."""
    routes = cast("Starlette", scope["app"]).routes
    return any(route.matches(scope)[0] is Match.FULL for route in routes)


def as_get(scope: Scope) -> Scope:
    """A copy in which the method is GET; the server goes on seeing its own."""
    return dict(scope, method="GET")


def set_route(scope: Scope, route: Route) -> None:
    scope["route"] = route


def remember_route(outer: Scope, inner: Scope) -> None:
    if "route" in inner:
        outer["route"] = inner["route"]


def facts_of(scope: Scope) -> Facts:
    return cast("Facts", scope[_FACTS])


def set_facts(scope: Scope, facts: Facts) -> None:
    scope[_FACTS] = facts


def session_of(scope: Scope) -> Session:
    """The visitor's session; an empty one where the path has none."""
    if _SESSION not in scope:
        scope[_SESSION] = Session.empty()
    return cast("Session", scope[_SESSION])


def set_session(scope: Scope, session: Session) -> None:
    scope[_SESSION] = session


def status_in(message: Message) -> int | None:
    """The status, when this message starts an answer."""
    starts = message["type"] == "http.response.start"
    return cast("int", message["status"]) if starts else None


def add_headers(message: MutableMapping[str, Any], more: Iterable[tuple[bytes, bytes]]) -> None:
    """Into a new list: the old one may belong to an answer that is sent again."""
    message["headers"] = [*message.get("headers", ()), *more]


def body_in(message: Message) -> bytes:
    return cast("bytes", message.get("body", b""))


def has_more(message: Message) -> bool:
    return bool(message.get("more_body", False))
