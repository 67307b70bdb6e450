"""Gathers everything in an app that must say where it runs."""

import inspect
from collections.abc import Coroutine, Iterator
from typing import Any, cast

from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.domains import Entry, inventory
from rookery.boundary.watch import LoopMeter
from rookery.farm.jobs import PeriodicJob
from rookery.web.steps import Step


class SyncEndpoint(Exception):
    """Endpoints are coroutine functions; plain ones would run outside the named limiters:"""

    def __str__(self) -> str:
        return f"{self.__doc__} {' '.join(map(str, self.args))}"


def entries(
    app: Starlette, steps: tuple[Step, ...], jobs: tuple[PeriodicJob, ...] = ()
) -> tuple[Entry, ...]:
    """The inventory; raises Undeclared or SyncEndpoint, and then the app must not start."""
    _refuse_sync(app.routes)
    taken = tuple(Entry("step", step.name, step.domain, step.why) for step in steps)
    done = inventory(("job", job.name, job.work) for job in jobs)
    return (*inventory(_items(app)), *taken, *done)


def _items(app: Starlette) -> Iterator[tuple[str, str, object]]:
    for name, route in named_routes(app.routes):
        yield "route", name, endpoint_of(route)
    for middleware in app.user_middleware:
        yield "middleware", getattr(middleware.cls, "__name__", "?"), middleware.cls
    for error, respond in app.exception_handlers.items():
        yield "error handler", getattr(error, "__name__", str(error)), respond


def named_routes(routes: list[BaseRoute], prefix: str = "") -> Iterator[tuple[str, BaseRoute]]:
    """Each route under its methods and pattern, those of mounted parts included."""
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


def _refuse_sync(routes: list[BaseRoute]) -> None:
    plain = [name for name, route in named_routes(routes) if _is_sync(endpoint_of(route))]
    if plain:
        raise SyncEndpoint(", ".join(plain))


def _is_sync(endpoint: object) -> bool:
    return inspect.isfunction(endpoint) and not inspect.iscoroutinefunction(endpoint)


# Keeps an account of the loop time of every route, under its name in the inventory.


class _Metered:
    def __init__(self, app: ASGIApp, name: str, meter: LoopMeter) -> None:
        self._app = app
        self._name = name
        self._meter = meter

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        work = cast("Coroutine[Any, Any, None]", self._app(scope, receive, send))
        await self._meter.measure(self._name, work)


def meter_routes(routes: list[BaseRoute], meter: LoopMeter) -> None:
    for name, route in named_routes(routes):
        if isinstance(route, Route):
            route.app = _Metered(route.app, name, meter)
