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
| a `Parts` | for each of its fields what a parameter would get |
| any other class | the feature of this type |

The value that is returned is encoded. `Work[T]` is a function that makes the value: both happen in
a thread. `Answer[T]` has a status or headers of its own, a text is sent as it is, and a Response is
passed through. The first paragraph of the docstring is the summary. OpenAPI and the inventory read
the declaration. Signatures are read once, when the module is imported.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from collections.abc import Callable as AnyCallable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_args, get_origin

import msgspec
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from rookery.core.boundary.offload import Threads
from rookery.core.protocol.codec import ORDINARY_BYTES
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.callers import find_caller, find_person
from rookery.server.http.faults import Forbidden, Unauthorized
from rookery.server.http.openapi import Operation, described
from rookery.server.http.signatures import BadEndpoint, Call, Features, Signature
from rookery.server.identity.bearers import Bearers, Caller
from rookery.server.identity.users import Scope
from rookery.server.identity.worker_credentials import WorkerCredentials

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Awaitable[object]])
Work = Callable[[], T]
"""Makes a value in a thread, where it is encoded too."""
TEXT = "text/plain; charset=utf-8"
LOOP, LOOP_CPU, THREAD, STREAM = Domain
NO_HEADERS: Mapping[str, str] = {}
UNSEEN = {"cache-control": "no-store"}
"""The header of answers that nobody may keep."""
_MARK = "__rookery_features__"


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value with a status or headers of its own."""

    value: T
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Declaration:
    """What an endpoint declares besides its signature."""

    scopes: tuple[Scope, ...]
    status: tuple[int, ...]
    headers: Mapping[str, str]
    media: str
    in_person: bool
    for_workers: bool
    encode: Callable[[object], bytes]

    def needs_caller(self, signature: Signature) -> bool:
        """Whether a call by nobody is refused."""
        asked = bool(self.scopes or self.in_person)
        return signature.caller is Caller or (asked and signature.caller is None)


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
        method, _, path = place.partition(" ")
        scopes = scope or self._scope
        declared = _Declaration(
            scopes=(scopes,) if isinstance(scopes, Scope) else scopes,
            status=(status,) if isinstance(status, int) else status,
            headers=headers or self._headers,
            media=media,
            in_person=in_person,
            for_workers=for_workers,
            encode=self._encode,
        )
        mark = runs(where, why, needs_primary=needs_primary or self._needs_primary)

        def declare(function: F) -> F:
            signature = Signature(function, path, most_bytes=most_bytes, empty_body=empty_body)
            _check(function, signature, declared)
            answer = _make_endpoint(mark(function), signature, declared)
            if self._documented:
                described(_describe(function, signature, declared))(answer)
            self._found += [(method, f"{root}{path}", answer) for root in self._roots]
            return function

        return declare

    def make_routes(self) -> list[BaseRoute]:
        """The routes of one app, which may put layers around them."""
        return [Route(path, answer, methods=[method]) for method, path, answer in self._found]


def _check(function: object, signature: Signature, declared: _Declaration) -> None:
    if not inspect.iscoroutinefunction(function):
        raise signature.refuse("it is no coroutine function")
    if not function.__doc__:
        raise signature.refuse("it has no docstring")
    if signature.caller is Caller and not (declared.scopes or declared.in_person):
        raise signature.refuse("it needs a caller, but declares no scope")


def _make_endpoint(function: F, signature: Signature, declared: _Declaration) -> EndpointFunction:
    """The function as Starlette calls it."""
    takes, read = signature.takes, signature.read_body
    admit = _find_admission(signature, declared)
    respond = _find_response(signature.returns, declared)

    @functools.wraps(function)
    async def answer(request: Request) -> Response:
        features: Features = request.app.state.features
        caller = await admit(request, features) if admit else None
        body = await read(request, features) if read else None
        call = Call(request, features, caller, body)
        made = await function(**{name: take(call) for name, take in takes})
        return await respond(made, features)

    mark_features(answer, signature)
    return answer


def mark_features(endpoint: object, signature: Signature) -> None:
    """Note which features an endpoint asks for."""
    setattr(endpoint, _MARK, frozenset(signature.features))


def _describe(function: object, signature: Signature, declared: _Declaration) -> Operation:
    """The endpoint in the document of the API."""
    kind = declared.media or _find_answer_type(signature.returns)
    if kind is None:
        raise signature.refuse("a Response needs the type of its media")
    return Operation(
        " ".join((function.__doc__ or "").split("\n\n")[0].split()).rstrip("."),
        dict.fromkeys(declared.status, kind),
        body=None if signature.body is bytes else signature.body,
        path=signature.path,
        query=signature.query,
        raw_body=signature.body is bytes,
        bearer=declared.needs_caller(signature) and not declared.in_person,
        find_logged_in=declared.in_person,
    )


class UnknownFeature(BadEndpoint):
    """This app has no feature of a type that an endpoint asks for:"""


def check_features(routes: Iterable[BaseRoute], features: Features) -> None:
    """Raise UnknownFeature if an endpoint asks for one that the app does not have."""
    for route in routes:
        if isinstance(route, Route):
            wanted: frozenset[type] = getattr(route.endpoint, _MARK, frozenset())
            if lacking := [kind.__name__ for kind in wanted if kind not in features]:
                raise UnknownFeature(f"{route.path} wants {', '.join(lacking)}")


# Finds the caller, and checks that they may call.

Admit = Callable[[Request, Features], Awaitable[Caller | None]]


def _find_admission(signature: Signature, declared: _Declaration) -> Admit | None:
    if declared.in_person:
        return _admit_person
    if not declared.scopes and signature.caller is None:
        return None
    scopes, needed = declared.scopes, declared.needs_caller(signature)
    readers = {Scope.READ, Scope.WORKER} if declared.for_workers else {Scope.READ}
    allowed = frozenset(scopes or readers)

    async def admit(request: Request, features: Features) -> Caller | None:
        credentials = features(WorkerCredentials) if declared.for_workers else None
        caller = await find_caller(request, features(Bearers), credentials)
        if caller is None and needed:
            raise Unauthorized
        if caller is None or not caller.scopes.isdisjoint(allowed):
            return caller
        if scopes:
            wanted = " or ".join(scopes)
            raise Forbidden(f"This token's scopes don't allow this; it takes a token for {wanted}.")
        return None

    return admit


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
