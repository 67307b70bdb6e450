"""Everything in an app says where it runs, or the app does not start."""

from functools import partial

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from rookery.app.routes import create_app
from rookery.boundary.domains import Domain, Entry, runs
from rookery.boundary.errors import Undeclared
from rookery.farm.jobs import PeriodicJob
from rookery.web.inventory import SyncEndpoint, entries
from rookery.web.steps import Step
from tests.twins.sites import make_site


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
    app = Starlette(routes=[Mount("/a", routes=[Route("/b", declared, methods=["POST"])])])
    step = Step("pool", Domain.LOOP, "asyncpg lives there")
    assert entries(app, (step,)) == (
        Entry("route", "POST /a/b", Domain.LOOP, "for the test"),
        Entry("step", "pool", Domain.LOOP, "asyncpg lives there"),
    )


@pytest.mark.parametrize(
    ("app", "name"),
    [
        (Starlette(routes=[Route("/x", undeclared)]), "route GET /x"),
        (Starlette(middleware=[Middleware(Layer)]), "middleware Layer"),
        (Starlette(exception_handlers={KeyError: on_error}), "error handler KeyError"),
    ],
)
def test_an_undeclared_part_stops_the_start_and_is_named(app: Starlette, name: str) -> None:
    with pytest.raises(Undeclared, match=name):
        entries(app, ())


def test_jobs_are_listed_with_their_reasons() -> None:
    job = PeriodicJob("shares", 60, partial(refresh, 7))
    assert entries(Starlette(), (), (job,)) == (
        Entry("job", "shares", Domain.LOOP, "adds up what is in memory"),
    )


def test_an_undeclared_job_stops_the_start_and_is_named() -> None:
    with pytest.raises(Undeclared, match="job sweep"):
        entries(
            Starlette(),
            (),
            (PeriodicJob("shares", 60, partial(refresh, 7)), PeriodicJob("sweep", 60, sweep)),
        )


def test_an_app_with_an_undeclared_job_is_not_made() -> None:
    site = make_site()
    site.jobs = (PeriodicJob("sweep", 60, sweep),)
    with pytest.raises(Undeclared, match="job sweep"):
        create_app(site)


def test_a_plain_function_is_no_endpoint() -> None:
    with pytest.raises(SyncEndpoint, match="GET /x"):
        entries(Starlette(routes=[Route("/x", plain)]), ())
