"""Reads the signature of an endpoint: where each parameter comes from. `web/endpoint.py` lists the
kinds of parameters; features are found by their type."""

import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import partial
from operator import attrgetter
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from starlette.datastructures import QueryParams
from starlette.requests import Request

from rookery.core.boundary.offload import Threads
from rookery.core.errors import message_in_docstring
from rookery.core.model.actor import Actor
from rookery.core.protocol.codec import BadParameter, Reader
from rookery.server.http.bodies import decode_body, read_body, read_pieces
from rookery.server.http.query_values import Query, drop_none, find_value_reader
from rookery.server.http.scope import Form, RequestInfo, request_info_of, session_of
from rookery.server.http.session import Session
from rookery.server.identity.bearers import Caller
from rookery.server.identity.users import User

T = TypeVar("T")
_PATH_NAME = re.compile(r"[{](\w+)")


class BadEndpoint(Exception):
    """This can't be an endpoint:"""

    def __str__(self) -> str:
        return f"{message_in_docstring(type(self))} {' '.join(map(str, self.args))}"


class Features:
    """The parts of an app by type. They are looked up in each call, because tests replace some."""

    def __init__(self, container: object, places: Mapping[type, str]) -> None:
        self._find: dict[object, Callable[[], object]] = {
            kind: partial(attrgetter(place), container) for kind, place in places.items()
        }

    def add(self, kind: type[T], part: T) -> None:
        """Offer another part."""
        self._find[kind] = lambda: part

    def make(self, kind: type[T], **given: object) -> T:
        """An object whose constructor takes what is not given from the features, by type."""
        hints = get_type_hints(kind.__init__)
        wanted = inspect.signature(kind).parameters.values()
        found = {each.name: self(hints[each.name]) for each in wanted if each.default is each.empty}
        return kind(**{**found, **given})

    def __contains__(self, kind: object) -> bool:
        return kind in self._find

    def __call__(self, kind: type[T]) -> T:
        found: Any = self._find[kind]()
        return found  # type: ignore[no-any-return]  # found by its type


class Parts:
    """A group of parameters, for functions that need the same: a subclass is a dataclass, and each
    of its fields is filled as a parameter would be."""

    __slots__ = ()


class Call(NamedTuple):
    """One request on its way into a function."""

    request: Request
    features: Features
    caller: Caller | Actor | User | None
    body: object


Take = Callable[[Call], object]
ReadBody = Callable[[Request, Features], Awaitable[object]]
CALLERS = (Caller, Caller | None, Actor, Actor | None, User, User | None)
"""Who calls: a program or person with scopes, or the viewer of a page, with the account or not."""
_OF_REQUEST: Mapping[object, Take] = {
    Form: lambda call: request_info_of(call.request.scope).form,
    Request: lambda call: call.request,
    QueryParams: lambda call: call.request.query_params,
    RequestInfo: lambda call: request_info_of(call.request.scope),
    Session: lambda call: session_of(call.request.scope),
}


class Signature:
    """The parameters of a function, with what fills each of them."""

    def __init__(
        self,
        function: Callable[..., Awaitable[object]],
        path: str,
        *,
        most_bytes: int,
        empty_body: bool,
    ) -> None:
        """Raises BadEndpoint if a parameter can't be filled."""
        self._function = function
        self._names = _PATH_NAME.findall(path)
        self._most_bytes = most_bytes
        self._empty_body = empty_body
        self.path: dict[str, Any] = {}
        self.query: dict[str, Any] = {}
        self.features: list[object] = []
        self.caller: Any = None
        """One of CALLERS; None if the function does not ask who calls."""
        self.body: Any = None
        """The type of the body; bytes if it may be of any format."""
        self.read_body: ReadBody | None = None
        hints = get_type_hints(function, include_extras=True)
        self.returns = hints.pop("return", None)
        self.takes = tuple(
            (name, self._find_take(name, hints[name], parameter.default))
            for name, parameter in inspect.signature(function).parameters.items()
        )
        if missing := [name for name in self._names if name not in self.path]:
            raise self.refuse(f"no parameter takes {', '.join(missing)} of its path")

    def refuse(self, why: str) -> BadEndpoint:
        return BadEndpoint(f"{self._function.__module__}.{self._function.__qualname__}: {why}")

    def _find_take(self, name: str, kind: Any, default: object) -> Take:
        if name in self._names:
            self.path[name] = kind
            return lambda call: call.request.path_params[name]
        if kind in _OF_REQUEST:
            return _OF_REQUEST[kind]
        if kind in CALLERS:
            return self._take_caller(kind)
        if isinstance(kind, type) and issubclass(kind, Query):
            return self._take_group(kind)
        if isinstance(kind, type) and issubclass(kind, Parts):
            return self._take_parts(kind)
        return (
            self._find_value(name, kind, default)
            or self._find_body(kind)
            or self._find_feature(name, kind)
        )

    def _take_caller(self, kind: Any) -> Take:
        """Take who calls. One that is needed anywhere is needed by all."""
        plain = drop_none(kind)
        if self.caller is not None and drop_none(self.caller) is not plain:
            raise self.refuse("it asks for two kinds of callers")
        self.caller = plain if plain in (kind, self.caller) else kind
        return lambda call: call.caller

    def _find_value(self, name: str, kind: Any, default: object) -> Take | None:
        """Take a query parameter."""
        read = find_value_reader(name, kind)
        if read is None:
            return None
        self.query[name] = drop_none(kind)
        return _take_value(name, read, default)

    def _take_group(self, kind: type[Query]) -> Take:
        found = msgspec.structs.fields(kind)
        takes = [self._find_value(each.name, each.type, each.default) for each in found]
        known = [take for take in takes if take is not None]
        if len(known) < len(takes):
            raise self.refuse(f"a field of {kind.__name__} can't stand in a query")
        return lambda call: kind(*[take(call) for take in known])

    def _take_parts(self, kind: type[Parts]) -> Take:
        fields = get_type_hints(kind, include_extras=True)
        takes = [self._find_take(*each, inspect.Parameter.empty) for each in fields.items()]
        return lambda call: kind(*[take(call) for take in takes])

    def _find_body(self, kind: Any) -> Take | None:
        body, read = self._find_body_reader(kind)
        if read is None:
            return None
        if self.read_body is not None:
            raise self.refuse("it has two bodies")
        self.body, self.read_body = body, read
        return lambda call: call.body

    def _find_body_reader(self, kind: Any) -> tuple[Any, ReadBody | None]:
        """The type of a body, and what reads it."""
        if kind == AsyncIterator[bytes]:
            return bytes, _read_stream
        if kind is bytes:
            return bytes, _read_whole
        if get_origin(kind) is Annotated and get_args(kind)[0] is bytes:
            return get_args(kind)[1], _read_whole
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            reader = Reader(kind, most_bytes=self._most_bytes)
            return kind, _reading(reader, b"{}" if self._empty_body else b"")
        return None, None

    def _find_feature(self, name: str, kind: Any) -> Take:
        if not isinstance(kind, type):
            raise self.refuse(f"nothing can be given for {name}: {kind}")
        self.features.append(kind)
        return lambda call: call.features(kind)


def _take_value(name: str, read: Callable[[str], object], default: object) -> Take:
    needed = default in (inspect.Parameter.empty, msgspec.NODEFAULT)

    def take(call: Call) -> object:
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


def _reading(reader: Reader[object], nothing: bytes) -> ReadBody:
    """A function that decodes a body; `nothing` stands for an empty one."""

    async def read(request: Request, features: Features) -> object:
        body = await read_body(request.receive) or nothing
        return await decode_body(body, reader.read, features(Threads))

    return read
