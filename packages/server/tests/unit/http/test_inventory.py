"""Everything in an app says where it runs, or the app does not start."""

from functools import partial

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.core.boundary.errors import Undeclared
from rookery.server.boundary.domains import Domain, Entry, inventory, runs
from rookery.server.http.inventory import SyncEndpoint, list_parts, list_steps
from rookery.server.http.steps import Step


@runs(Domain.LOOP, "for the test")
async def declared(_request: Request) -> Response:
    return Response()


async def undeclared(_request: Request) -> Response:
    return Response()


@runs(Domain.THREAD, "for the test")
def plain(_request: Request) -> Response:
    return Response()


class Layer:
    """A middleware that forgot to say where it runs."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


async def on_error(_request: Request, _error: Exception) -> Response:
    return Response()


@runs(Domain.LOOP, "adds up what is in memory")
async def refresh(_number: int) -> None:
    """A job that says where it runs."""


async def sweep() -> None:
    """A job that forgot to."""


def test_routes_and_steps_are_listed_with_their_reasons() -> None:
    routes = [Mount("/a", routes=[Route("/b", declared, methods=["POST"])])]
    step = Step("pool", Domain.LOOP, "asyncpg lives there")
    assert (*list_parts(routes), *list_steps([step])) == (
        Entry("route", "POST /a/b", Domain.LOOP, "for the test"),
        Entry("step", "pool", Domain.LOOP, "asyncpg lives there"),
    )


def test_an_undeclared_route_stops_the_start_and_is_named() -> None:
    with pytest.raises(Undeclared, match="route GET /x"):
        list_parts([Route("/x", undeclared)])


def test_so_does_an_undeclared_middleware() -> None:
    with pytest.raises(Undeclared, match="middleware Layer"):
        list_parts([], [Layer])


def test_so_does_an_undeclared_error_handler() -> None:
    with pytest.raises(Undeclared, match="error handler KeyError"):
        list_parts([], [], {KeyError: on_error})


def test_jobs_are_listed_with_their_reasons() -> None:
    assert inventory([("job", "shares", partial(refresh, 7))]) == (
        Entry("job", "shares", Domain.LOOP, "adds up what is in memory"),
    )


def test_an_undeclared_job_is_named() -> None:
    with pytest.raises(Undeclared, match="job sweep"):
        inventory([("job", "shares", partial(refresh, 7)), ("job", "sweep", sweep)])


def test_a_plain_function_is_no_endpoint() -> None:
    with pytest.raises(SyncEndpoint, match="GET /x"):
        list_parts([Route("/x", plain)])
