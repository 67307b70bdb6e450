"""Keeps an account of the loop time of every route, under its name in the inventory."""

from collections.abc import Coroutine
from typing import Any, cast

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.boundary.meter import LoopMeter
from rookery.web.inventory import named_routes


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
