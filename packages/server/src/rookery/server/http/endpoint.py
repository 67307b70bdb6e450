"""The one way to write an endpoint for programs: a typed function and its declaration.

    api = Endpoints("/api/v1")

    @api("GET /teams/{team}", LOOP, "teams are in memory", scope=Scope.READ)
    async def get_team(teams: Teams, caller: Caller, team: v1.Name) -> people.Team:
        '''A team.'''
        return teams.by_name(team, caller.actor)

A parameter is filled by its name and its type:

| parameter | gets |
|---|---|
| named in the path | that part of the path; what does not exist is for the feature to say |
| a text, a number, a switch, a choice | the query parameter of its name, or its default |
| a `Query` | one query parameter for each of its fields |
| another Struct | the body, decoded from JSON |
| bytes, `AsyncIterator[bytes]` | the whole body, or its pieces as they arrive |
| `Annotated[bytes, Kind]` | the whole body, which the function itself decodes |
| `Caller`, `Caller or None` | who calls, checked against `scope`; None stands for anybody else |
| Request, QueryParams, RequestInfo, Session | what the feature really has to see of the request |
| any other class | the feature of this type |

The value that is returned is encoded. `Work[T]` is a function that makes the value: both happen in
a thread. `Answer[T]` has a status or headers of its own, a text is sent as it is, and a Response is
passed through. The first paragraph of the docstring is the summary. OpenAPI and the inventory read
the declaration. Signatures are read once, when the module is imported.
"""

import functools
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from collections.abc import Callable as AnyCallable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Annotated, Any, Generic, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from rookery.core.boundary.offload import Threads
from rookery.core.errors import message_in_docstring
from rookery.core.protocol.codec import ORDINARY_BYTES, BadParameter, Reader
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.bodies import decode_body, read_body, read_pieces
from rookery.server.http.callers import find_caller, find_person
from rookery.server.http.faults import Forbidden, Unauthorized
from rookery.server.http.openapi import Operation, described
from rookery.server.http.query_values import Query, drop_none, find_value_reader
from rookery.server.http.scope import RequestInfo, request_info_of, session_of
from rookery.server.http.session import Session
from rookery.server.people.bearers import Bearers, Caller
from rookery.server.people.users import Scope
from rookery.server.people.worker_credentials import WorkerCredentials

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Awaitable[object]])
Work = Callable[[], T]
"""Makes a value in a thread, where it is encoded too."""
TEXT = "text/plain; charset=utf-8"
LOOP, LOOP_CPU, THREAD, STREAM = Domain
NO_HEADERS: Mapping[str, str] = {}
UNSEEN = {"cache-control": "no-store"}
"""The header of answers that nobody may keep."""
_PATH_NAME = re.compile(r"[{](\w+)")
_MARK = "__rookery_endpoint__"


class BadEndpoint(Exception):
    """This can't be an endpoint:"""

    def __str__(self) -> str:
        return f"{message_in_docstring(type(self))} {' '.join(map(str, self.args))}"


class UnknownFeature(BadEndpoint):
    """This app has no feature of a type that an endpoint asks for:"""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value with a status or headers of its own."""

    value: T
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class Features:
    """The parts of an app by type. They are looked up in each call, because tests replace some."""

    def __init__(self, container: object, places: Mapping[type, str]) -> None:
        self._find: dict[object, Callable[[], object]] = {
            kind: functools.partial(attrgetter(place), container) for kind, place in places.items()
        }

    def add(self, kind: type[T], part: T) -> None:
        """Offer another part."""
        self._find[kind] = lambda: part

    def __contains__(self, kind: object) -> bool:
        return kind in self._find

    def __call__(self, kind: type[T]) -> T:
        found: Any = self._find[kind]()
        return found  # type: ignore[no-any-return]  # found by its type


def check_features(routes: Iterable[BaseRoute], features: Features) -> None:
    """Raise UnknownFeature if an endpoint asks for one that the app does not have."""
    for route in routes:
        wanted: frozenset[object] = getattr(getattr(route, "endpoint", None), _MARK, frozenset())
        for kind in wanted:
            if kind not in features:
                raise UnknownFeature(route, kind)


@dataclass(frozen=True, slots=True)
class _Declaration:
    """What an endpoint declares besides its signature."""

    scopes: tuple[Scope, ...]
    status: tuple[int, ...]
    headers: Mapping[str, str]
    media: str
    in_person: bool
    for_workers: bool
    empty_body: bool
    most_bytes: int
    encode: Callable[[object], bytes]


EndpointFunction = Callable[[Request], Awaitable[Response]]


class Endpoints:
    """The endpoints of a module, each a typed function, at one or more roots."""

    def __init__(
        self,
        *roots: str,
        scope: Scope | tuple[Scope, ...] = (),
        headers: Mapping[str, str] = NO_HEADERS,
        needs_primary: bool = False,
        encode: Callable[[object], bytes] = msgspec.json.encode,
        documented: bool = True,
    ) -> None:
        """Scope, headers and primacy hold for all endpoints that do not declare their own."""
        self._roots = roots or ("",)
        self._scope = scope
        self._headers = headers
        self._needs_primary = needs_primary
        self._encode = encode
        self._documented = documented
        self._found: list[tuple[str, str, EndpointFunction]] = []

    def __call__(
        self,
        place: str,
        where: Domain,
        why: str,
        *,
        scope: Scope | tuple[Scope, ...] = (),
        status: int | tuple[int, ...] = 200,
        headers: Mapping[str, str] = NO_HEADERS,
        media: str = "",
        in_person: bool = False,
        for_workers: bool = False,
        needs_primary: bool = False,
        empty_body: bool = False,
        most_bytes: int = ORDINARY_BYTES,
    ) -> Callable[[F], F]:
        """Declare a function as the endpoint of a method and a path, such as `GET /teams/{team}`;
        where it runs and why there.

        A caller needs one of the scopes; without any, a token that may not read counts as nobody.
        `in_person` takes a session or a password and no token; `for_workers` also takes tokens and
        passwords of workers. `media` is the type of a Response, and `empty_body` allows to leave
        out a body in which nothing is required."""
        scopes = scope or self._scope
        declared = _Declaration(
            scopes=(scopes,) if isinstance(scopes, Scope) else scopes,
            status=(status,) if isinstance(status, int) else status,
            headers=headers or self._headers,
            media=media,
            in_person=in_person,
            for_workers=for_workers,
            empty_body=empty_body,
            most_bytes=most_bytes,
            encode=self._encode,
        )

        def declare(function: F) -> F:
            method, _, path = place.partition(" ")
            primary = needs_primary or self._needs_primary
            plan = _Plan(runs(where, why, needs_primary=primary)(function), path, declared)
            answer = plan.make_endpoint()
            setattr(answer, _MARK, frozenset(plan.features))
            if self._documented:
                described(plan.describe())(answer)
            self._found += [(method, f"{root}{path}", answer) for root in self._roots]
            return function

        return declare

    def make_routes(self) -> list[BaseRoute]:
        """The routes of one app, which may put layers around them."""
        return [Route(path, answer, methods=[method]) for method, path, answer in self._found]


class _Call:
    """One request on its way into the function."""

    __slots__ = ("body", "caller", "features", "request")

    def __init__(
        self, request: Request, features: Features, caller: Caller | None, body: object
    ) -> None:
        self.request = request
        self.features = features
        self.caller = caller
        self.body = body


Take = Callable[[_Call], object]
ReadBody = Callable[[Request, Features], Awaitable[object]]
_OF_REQUEST: Mapping[object, Take] = {
    Request: lambda call: call.request,
    QueryParams: lambda call: call.request.query_params,
    RequestInfo: lambda call: request_info_of(call.request.scope),
    Session: lambda call: session_of(call.request.scope),
}


class _Plan:
    """How the parameters of one function are filled, found from its signature."""

    def __init__(
        self, function: Callable[..., Awaitable[object]], path: str, declared: _Declaration
    ):
        self._function = function
        self._declared = declared
        self._names = _PATH_NAME.findall(path)
        self._read_body: ReadBody | None = None
        self._needs_caller: bool | None = True if declared.scopes or declared.in_person else None
        self.features: list[object] = []
        self._path: dict[str, Any] = {}
        self._query: dict[str, Any] = {}
        self._body: Any = None
        hints = get_type_hints(function, include_extras=True)
        self._returns = hints.pop("return", None)
        parameters = inspect.signature(function).parameters
        self._takes = tuple(
            (name, self._find_take(name, hints[name], parameter.default))
            for name, parameter in parameters.items()
        )
        self._check()

    def _check(self) -> None:
        if not inspect.iscoroutinefunction(self._function):
            raise self._refuse("it is no coroutine function")
        if not self._function.__doc__:
            raise self._refuse("it has no docstring")
        if missing := [name for name in self._names if name not in self._path]:
            raise self._refuse(f"no parameter takes {', '.join(missing)} of its path")
        if self._needs_caller and not (self._declared.scopes or self._declared.in_person):
            raise self._refuse("it needs a caller, but declares no scope")

    def _refuse(self, why: str) -> BadEndpoint:
        return BadEndpoint(f"{self._function.__module__}.{self._function.__qualname__}: {why}")

    def _find_take(self, name: str, kind: Any, default: object) -> Take:
        """Find out where a parameter comes from."""
        if name in self._names:
            self._path[name] = kind
            return lambda call: call.request.path_params[name]
        if kind in _OF_REQUEST:
            return _OF_REQUEST[kind]
        if kind is Caller or kind == Caller | None:
            self._needs_caller = kind is Caller
            return lambda call: call.caller
        if (reader := find_value_reader(name, kind)) is not None:
            self._query[name] = drop_none(kind)
            return _take_query(name, reader, default)
        if isinstance(kind, type) and issubclass(kind, Query):
            return self._take_group(kind)
        if (read := self._find_body_reader(kind)) is not None:
            if self._read_body is not None:
                raise self._refuse("it has two bodies")
            self._read_body = read
            return lambda call: call.body
        if not isinstance(kind, type):
            raise self._refuse(f"nothing can be given for {name}: {kind}")
        self.features.append(kind)
        return lambda call: call.features(kind)

    def _take_group(self, kind: type[Query]) -> Take:
        takes = []
        for each in msgspec.structs.fields(kind):
            reader = find_value_reader(each.name, each.type)
            if reader is None:
                raise self._refuse(f"{each.name} can't stand in a query")
            self._query[each.name] = drop_none(each.type)
            takes.append(_take_query(each.name, reader, each.default))
        return lambda call: kind(*[take(call) for take in takes])

    def _find_body_reader(self, kind: Any) -> ReadBody | None:
        if kind == AsyncIterator[bytes]:
            self._body = bytes
            return _read_stream
        if kind is bytes:
            self._body = bytes
            return _read_whole
        if get_origin(kind) is Annotated and get_args(kind)[0] is bytes:
            self._body = get_args(kind)[1]
            return _read_whole
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            self._body = kind
            return _reading(Reader(kind, most_bytes=self._declared.most_bytes), self._declared)
        return None

    def make_endpoint(self) -> EndpointFunction:
        """The function as Starlette calls it."""
        function, takes, read = self._function, self._takes, self._read_body
        admit = self._find_admission()
        respond = _find_response(self._returns, self._declared)

        @functools.wraps(function)
        async def answer(request: Request) -> Response:
            features: Features = request.app.state.features
            caller = await admit(request, features) if admit else None
            body = await read(request, features) if read else None
            call = _Call(request, features, caller, body)
            made = await function(**{name: take(call) for name, take in takes})
            return await respond(made, features)

        return answer

    def _find_admission(self) -> "Callable[[Request, Features], Awaitable[Caller | None]] | None":
        if self._needs_caller is None:
            return None
        if self._declared.in_person:
            return _admit_person
        scopes, needed = self._declared.scopes, bool(self._needs_caller)
        for_workers = self._declared.for_workers
        readers = frozenset({Scope.READ, Scope.WORKER} if for_workers else {Scope.READ})
        allowed = frozenset(scopes) or readers

        async def admit(request: Request, features: Features) -> Caller | None:
            credentials = features(WorkerCredentials) if for_workers else None
            caller = await find_caller(request, features(Bearers), credentials)
            if caller is None and needed:
                raise Unauthorized
            if caller is None or not caller.scopes.isdisjoint(allowed):
                return caller
            if scopes:
                raise Forbidden(
                    "This token's scopes don't allow this; it takes a token for"
                    f" {' or '.join(scopes)}."
                )
            return None

        return admit

    def describe(self) -> Operation:
        """What the signature says, for the document of the API."""
        declared = self._declared
        kind = declared.media or _find_answer_type(self._returns)
        if kind is None:
            raise self._refuse("a Response needs the type of its media")
        return Operation(
            " ".join((self._function.__doc__ or "").split("\n\n")[0].split()).rstrip("."),
            dict.fromkeys(declared.status, kind),
            body=None if self._body is bytes else self._body,
            path=self._path,
            query=self._query,
            raw_body=self._body is bytes,
            bearer=bool(self._needs_caller) and not declared.in_person,
            find_logged_in=declared.in_person,
        )


# Fills parameters.


def _take_query(name: str, read: Callable[[str], object], default: object) -> Take:
    needed = default in (inspect.Parameter.empty, msgspec.NODEFAULT)

    def take(call: _Call) -> object:
        text = call.request.query_params.get(name)
        if text is not None:
            return read(text)
        if needed:
            raise BadParameter(name=name, text="is missing")
        return default

    return take


async def _read_stream(request: Request, _features: Features) -> AsyncIterator[bytes]:
    return read_pieces(request.receive)


async def _read_whole(request: Request, _features: Features) -> bytes:
    return await read_body(request.receive)


def _reading(reader: Reader[object], declared: _Declaration) -> ReadBody:
    nothing = b"{}" if declared.empty_body else b""

    async def read(request: Request, features: Features) -> object:
        body = await read_body(request.receive) or nothing
        return await decode_body(body, reader.read, features(Threads))

    return read


async def _admit_person(request: Request, features: Features) -> Caller:
    return await find_person(request, features(Bearers), features(WorkerCredentials))


# Encodes what a function returns.

Respond = Callable[[Any, Features], Awaitable[Response]]


def _find_answer_type(returns: Any) -> Any:
    """The type to describe; None for a Response, which only its declaration describes."""
    origin, arguments = get_origin(returns), get_args(returns)
    if origin is AnyCallable or origin is Answer:
        return _find_answer_type(arguments[-1])
    if returns is str:
        return TEXT
    return None if _is_response(returns) else returns


def _is_response(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Response)


def _find_response(returns: Any, declared: _Declaration) -> Respond:
    encode, status, headers = declared.encode, declared.status[0], dict(declared.headers)

    async def encode_value(made: object, _features: Features) -> Response:
        return Response(encode(made), status, headers, "application/json")

    async def encode_answer(made: Answer[object], _features: Features) -> Response:
        body = encode(made.value)
        return Response(body, made.status, {**headers, **made.headers}, "application/json")

    async def encode_in_thread(made: Work[object], features: Features) -> Response:
        body = await features(Threads).cpu(lambda: encode(made()))
        return Response(body, status, headers, "application/json")

    async def send_text(made: str, _features: Features) -> Response:
        return PlainTextResponse(made, status, headers)

    async def pass_through(made: Response, _features: Features) -> Response:
        return made

    if _is_response(returns):
        return pass_through
    if get_origin(returns) is Answer:
        return encode_answer
    if get_origin(returns) is AnyCallable:
        return encode_in_thread
    return send_text if returns is str else encode_value
