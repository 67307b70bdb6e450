"""Typed access to an ASGI scope, so that no other module reads that dictionary."""

import enum
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Match
from starlette.types import Message, Scope

from rookery.server.http.command_keys import CommandKey
from rookery.server.http.faults import MalformedForm
from rookery.server.http.internal_calls import ForwardedCall
from rookery.server.http.session import Session

# Form posts as typed values: flat names and texts.

FORM_TYPE = "application/x-www-form-urlencoded"
MOST_FIELDS = 1000


@dataclass(frozen=True, slots=True)
class Form:
    """The fields of one post in order. A name may occur more than once."""

    fields: tuple[tuple[str, str], ...] = ()

    def text(self, name: str) -> str:
        """The first value of that name, or an empty text."""
        return next((value for key, value in self.fields if key == name), "")

    def texts(self) -> dict[str, str]:
        """The first value of each name."""
        return dict(reversed(self.fields))

    def ticked(self, name: str) -> bool:
        """Whether a checkbox is on. Browsers send it only then."""
        return any(key == name and value for key, value in self.fields)


def parse_form(body: bytes) -> Form:
    try:
        text = body.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError as error:
        raise MalformedForm from error
    if any("\0" in name or "\0" in value for name, value in pairs):
        raise MalformedForm
    return Form(tuple(pairs))


# The audience of a path: workers, other programs, or people.

# A worker exits at an error of this call, whatever its cause.
VERSION_PATH = "/api/request_version"
# A worker gives up its task at an error of this call.
BEAT_PATH = "/api/beat"
WORKER_PATHS = frozenset(
    {
        VERSION_PATH,
        BEAT_PATH,
        "/api/request_task",
        "/api/update_task",
        "/api/request_spsa",
        "/api/failed_task",
        "/api/stop_run",
        "/api/upload_pgn",
        "/api/worker_log",
    }
)
# Requested by load balancers and monitors, also during start and stop.
PROBE_PATHS = frozenset({"/healthz", "/readyz", "/callerz", "/metrics"})
PROGRAM_PATHS = PROBE_PATHS | {"/openapi.json"}
# Uploads may be larger than other requests.
BINARIES_PATH = "/api/v1/binaries"
NETS_PATH = "/api/v1/nets"
BOOKS_PATH = "/api/v1/books"
# Documents for Ask, below two roots.
DOCUMENTS = "/documents"
ASK_ROOT = "/api/v1/ask"
# A form with a net, used by browsers and by fishtest's scripts.
UPLOAD_PATH = "/upload"
PROGRAMS_PAGE = "/programs"
BOOKS_PAGE = "/books"
# Source trees for workers that get them from this server.
SOURCES_PREFIX = "/src/"
STATIC_PREFIX = "/static/"
# Addresses for the surroundings of pages, the same for everybody.
FRAME_PATHS = frozenset({"/theme", "/robots.txt", "/favicon.ico"})
# The wheel and the scripts for machines that want to play for this server.
HANDOUT_PREFIX = "/worker/"
SIGN_UP_PATH = "/api/v1/users"
# Open without login, because a password is exchanged for a token here.
TOKENS_PATH = "/api/v1/tokens"
# Forms that may be posted without a login.
LINK_PATHS = frozenset(
    {"/login/reset", "/login/new-password", "/confirm", "/unsubscribe", "/api/v1/unsubscribe"}
)
"""The addresses that links in mails lead to, and those where such a link is requested."""
ASKS_NOBODY = LINK_PATHS | {"/login", "/signup", SIGN_UP_PATH, TOKENS_PATH, "/api/actions"}
NEW_TEST_PATH = "/tests/new"
FORMS_SHOWN_AGAIN = frozenset({NEW_TEST_PATH})
"""Forms that take time to fill in. After the end of their session nothing is done, and the form is
shown again with what was typed."""
# Ask, at the addresses that chat programs expect.
ASK_PREFIXES = ("/query", "/chat/", DOCUMENTS)
PROGRAM_PREFIXES = ("/api/", SOURCES_PREFIX, HANDOUT_PREFIX, *ASK_PREFIXES)


class Audience(enum.Enum):
    """Who a request comes from. It decides the format of the answer, above all of an error."""

    WORKER = "worker"
    PROGRAM = "program"
    PERSON = "person"


def audience_of(path: str) -> Audience:
    if path in WORKER_PATHS:
        return Audience.WORKER
    if path.startswith(PROGRAM_PREFIXES) or path in PROGRAM_PATHS:
        return Audience.PROGRAM
    return Audience.PERSON


def is_same_for_all(path: str) -> bool:
    """Whether the answer never depends on the visitor."""
    return path.startswith(STATIC_PREFIX) or path in PROGRAM_PATHS or path in FRAME_PATHS


def is_form_shown_again(scope: Scope) -> bool:
    return method_of(scope) == "POST" and path_of(scope) in FORMS_SHOWN_AGAIN


def comes_from_another_site(scope: Scope) -> bool:
    """Whether a post comes from another site, as browsers tell by Sec-Fetch-Site over HTTPS, else
    by Origin. Another host of the same domain counts as another site."""
    if place := header(scope, b"sec-fetch-site"):
        return place != "same-origin"
    origin = header(scope, b"origin")
    return bool(origin) and origin.partition("://")[2] != header(scope, b"host")


def comes_from_own_page(scope: Scope) -> bool:
    """Whether the browser says that a post comes from this site. Without such a header it may come
    from anywhere."""
    told = header(scope, b"sec-fetch-site") or header(scope, b"origin")
    return bool(told) and not comes_from_another_site(scope)


def is_local(path: str) -> bool:
    """Whether an address to continue at is on this site, however a browser parses it."""
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return plain and path.startswith("/") and not path.startswith("//")


Headers = list[tuple[bytes, bytes]]

_REQUEST_INFO = "rookery.request_info"
_SESSION = "rookery.session"
_KNOWN_CALL = "rookery.known_call"


@dataclass(slots=True)
class RequestInfo:
    """What is known about one request. It is filled in from the outermost middleware inwards."""

    request_id: str
    started: float
    client: str
    secure: bool
    audience: Audience
    proxied: bool = False
    """Whether a trusted proxy has passed the request on; headers that the proxy adds may then be
    believed."""

    form: Form = field(default_factory=Form)
    unproven: bool = False
    """Whether a form came without its session's token and is to be shown again. Nothing that it
    asks for may be done."""
    forwarded: ForwardedCall | None = None
    """The data of the other instance that has forwarded this call; None for a direct call."""
    command: CommandKey | None = None
    """The key by which a command is recognised if it arrives again."""
    waited: float = 0.0
    """How many seconds the request was kept waiting for work, here or in another process."""

    def add_wait(self, seconds: float) -> None:
        """Add time spent waiting for work, which does not count as response time."""
        self.waited += seconds
        self.started += seconds


def is_http(scope: Scope) -> bool:
    return bool(scope["type"] == "http")


def path_of(scope: Scope) -> str:
    return cast("str", scope["path"])


def raw_path_of(scope: Scope) -> bytes:
    """The path as it was sent, before percent escapes were decoded."""
    return cast("bytes", scope.get("raw_path") or b"")


def query_of(scope: Scope) -> bytes:
    return cast("bytes", scope.get("query_string", b""))


def target_of(scope: Scope) -> bytes:
    """The path and query as they were sent."""
    path, query = raw_path_of(scope), query_of(scope)
    return path + b"?" + query if query else path


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
    """The pattern of the route. Patterns are limited in number, paths are not."""
    return cast("str", getattr(scope.get("route"), "path", "(none)"))


def has_endpoint(scope: Scope) -> bool:
    """Whether an endpoint takes this request; if not, the answer is a 404 or 405."""
    return find_route(scope) is not None


def find_route(scope: Scope) -> BaseRoute | None:
    """The route that takes this request."""
    routes = cast("Starlette", scope["app"]).routes
    return next((route for route in routes if route.matches(scope)[0] is Match.FULL), None)


def as_get(scope: Scope) -> Scope:
    """A copy of the scope with the method GET. The HTTP server keeps its own."""
    return dict(scope, method="GET")


def set_route(scope: Scope, route: BaseRoute) -> None:
    scope["route"] = route


def remember_route(outer: Scope, inner: Scope) -> None:
    if "route" in inner:
        outer["route"] = inner["route"]


def request_info_of(scope: Scope) -> RequestInfo:
    return cast("RequestInfo", scope[_REQUEST_INFO])


def set_request_info(scope: Scope, info: RequestInfo) -> None:
    scope[_REQUEST_INFO] = info


def known_call_of(scope: Scope) -> object | None:
    """What the HTTP server has found out about a worker's call before it made this scope."""
    return scope.get(_KNOWN_CALL)


def set_known_call(scope: MutableMapping[str, Any], known: object) -> None:
    scope[_KNOWN_CALL] = known


def session_of(scope: Scope) -> Session:
    """The visitor's session; an empty one on paths without sessions."""
    if _SESSION not in scope:
        scope[_SESSION] = Session.empty()
    return cast("Session", scope[_SESSION])


def set_session(scope: Scope, session: Session) -> None:
    scope[_SESSION] = session


def status_in(message: Message) -> int | None:
    """The status if this message starts an answer, else None."""
    starts = message["type"] == "http.response.start"
    return cast("int", message["status"]) if starts else None


def add_headers(message: MutableMapping[str, Any], more: Iterable[tuple[bytes, bytes]]) -> None:
    """Add headers by making a new list: the old one may belong to an answer that is sent again."""
    message["headers"] = [*message.get("headers", ()), *more]


def is_body(message: Message) -> bool:
    """Whether a message is a piece of a request's body, as opposed to a disconnect."""
    return bool(message["type"] == "http.request")


def body_in(message: Message) -> bytes:
    return cast("bytes", message.get("body", b""))


def has_more(message: Message) -> bool:
    return bool(message.get("more_body", False))
