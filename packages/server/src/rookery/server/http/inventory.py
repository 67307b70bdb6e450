"""Collects all parts of an app that must declare where they run, and measures the loop time of each
route."""

import inspect
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.core.boundary.watch import LoopMeter
from rookery.core.errors import message_in_docstring
from rookery.server.boundary.domains import Entry, inventory
from rookery.server.http.steps import Step

NO_HANDLERS: Mapping[type[Exception], object] = {}


class SyncEndpoint(Exception):
    """Endpoints are coroutine functions; plain ones would run outside the named limiters:"""

    def __str__(self) -> str:
        return f"{message_in_docstring(type(self))} {' '.join(map(str, self.args))}"


def list_parts(
    routes: Sequence[BaseRoute],
    middleware: Sequence[type] = (),
    handlers: Mapping[type[Exception], object] = NO_HANDLERS,
) -> tuple[Entry, ...]:
    """The inventory of what answers requests. Raises Undeclared or SyncEndpoint, and then the app
    must not start."""
    _refuse_sync(routes)
    return inventory(
        (
            *(("route", name, endpoint_of(route)) for name, route in named_routes(routes)),
            *(("middleware", layer.__name__, layer) for layer in middleware),
            *(("error handler", name, part) for name, part in _name_handlers(handlers)),
        )
    )


def _name_handlers(handlers: Mapping[type[Exception], object]) -> Iterator[tuple[str, object]]:
    """Each error handler once, with the first error that it handles."""
    named: dict[int, tuple[str, object]] = {}
    for error, part in handlers.items():
        named.setdefault(id(part), (error.__name__, part))
    yield from named.values()


def list_steps(steps: Iterable[Step]) -> tuple[Entry, ...]:
    return tuple(Entry("step", step.name, step.domain, step.why) for step in steps)


def named_routes(routes: Sequence[BaseRoute], prefix: str = "") -> Iterator[tuple[str, BaseRoute]]:
    """Each route with its name (methods and pattern), including those of mounted parts."""
    for route in routes:
        if isinstance(route, Route):
            methods = ",".join(sorted((route.methods or set()) - {"HEAD"}))
            yield f"{methods} {prefix}{route.path}".strip(), route
        elif isinstance(route, Mount) and route.routes:
            yield from named_routes(route.routes, prefix + route.path)
        else:
            yield f"{prefix}{getattr(route, 'path', route)}", route


def endpoint_of(route: BaseRoute) -> object:
    return getattr(route, "endpoint", None) or getattr(route, "app", route)


def _refuse_sync(routes: Sequence[BaseRoute]) -> None:
    plain = [name for name, route in named_routes(routes) if _is_sync(endpoint_of(route))]
    if plain:
        raise SyncEndpoint(", ".join(plain))


def _is_sync(endpoint: object) -> bool:
    return inspect.isfunction(endpoint) and not inspect.iscoroutinefunction(endpoint)


# Measures the loop time of every route under its name in the inventory.


class _Metered:
    def __init__(self, app: ASGIApp, name: str, meter: LoopMeter) -> None:
        self._app = app
        self._name = name
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = cast("Coroutine[Any, Any, None]", self._app(scope, receive, send))
        await self._meter.measure(self._name, work)


def meter_routes(routes: Sequence[BaseRoute], meter: LoopMeter) -> None:
    for name, route in named_routes(routes):
        if isinstance(route, Route):
            route.app = _Metered(route.app, name, meter)
