"""What each part of an app computes on the event loop itself, call by call.

Times are CPU time of the loop's thread, so that other processes and threads of a busy machine do
not count. What a part awaits of another measured part counts for that one alone.
"""

import inspect
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from time import thread_time
from typing import Any, ParamSpec, TypeVar, cast

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.core.boundary.watch import LoopMeter
from rookery.server.app.routes import MIDDLEWARE

P = ParamSpec("P")
T = TypeVar("T")

ROUTING, ROWS = "routing", "rows"
"""What is no part of the inventory: the search for a route, and a twin in place of a database."""


@dataclass(slots=True)
class Call:
    """A call of one part: what it computed on the loop itself, and its calls to threads. Of several
    calls that are alike, the least."""

    name: str
    own_seconds: float = 0.0
    threads: int = 0
    of_others: float = 0.0
    times: int = 1

    @property
    def seconds_per_thread(self) -> float:
        """Of a call that goes to threads again and again, what it computes for each of them."""
        return self.own_seconds / max(1, self.threads)

    def lower(self, other: "Call") -> None:
        """Add another call that is like this one."""
        self.own_seconds = min(self.own_seconds, other.own_seconds)
        self.threads = min(self.threads, other.threads)
        self.times += 1


class CallMeter(LoopMeter):
    """Notes every call by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._calls: list[Call] = []

    async def measure(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        call, outer, alone = Call(name), _inside.get(), LoopMeter(thread_time)
        _inside.set(call)
        try:
            return await alone.measure(name, work)
        finally:
            _inside.set(outer)
            time = alone.times()[name]
            call.own_seconds, call.threads = time.total_seconds - call.of_others, time.threads
            if outer is not None:
                outer.of_others += time.total_seconds
            self._calls.append(call)

    def add(self, name: str, seconds: float) -> None:
        """A call of the short path, whose time is in that of ShortPath."""
        super().add(name, seconds)
        self._calls.append(Call(name))

    def take(self) -> list[Call]:
        """The calls since the last time."""
        calls, self._calls = self._calls, []
        return calls


_inside: ContextVar[Call | None] = ContextVar("inside", default=None)


class _Layer:
    """A middleware that is measured."""

    def __init__(self, app: ASGIApp, name: str, meter: LoopMeter, inner: Middleware | None) -> None:
        self.app = inner.cls(app, *inner.args, **inner.kwargs) if inner else app
        self._name = name
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = cast("Coroutine[Any, Any, None]", self.app(scope, receive, send))
        await self._meter.measure(self._name, work)


def measure_layers(app: Starlette, meter: LoopMeter) -> None:
    """Measure the middleware and the error handler of an app, too. It makes its layers anew."""

    def layer(name: str, inner: Middleware | None = None) -> Middleware:
        return Middleware(_Layer, name=name, meter=meter, inner=inner)

    app.user_middleware = [
        *(
            layer(part.__name__, one)
            for part, one in zip(MIDDLEWARE, app.user_middleware, strict=True)
        ),
        layer(ROUTING),
    ]
    first, handler = next(iter(app.exception_handlers.items()))

    async def measured(request: Request, error: Exception) -> Response:
        work = cast("Coroutine[Any, Any, Response]", handler(request, error))
        return await meter.measure(first.__name__, work)

    app.exception_handlers = dict.fromkeys(app.exception_handlers, measured)
    app.middleware_stack = None


def measure_rows(reads: object, meter: LoopMeter) -> None:
    """Measure what a twin does in the place of the database, so that it counts for no other
    part."""
    for name, method in inspect.getmembers(reads, inspect.iscoroutinefunction):
        setattr(reads, name, _measured(method, meter))


def _measured(
    method: Callable[P, Coroutine[Any, Any, T]], meter: LoopMeter
) -> Callable[P, Coroutine[Any, Any, T]]:
    async def measured(*args: P.args, **kwargs: P.kwargs) -> T:
        return await meter.measure(ROWS, method(*args, **kwargs))

    return measured
