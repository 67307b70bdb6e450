"""The app: routes, middleware from the outside in, error handlers and the lifespan."""

import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.boundary.domains import Domain, runs
from rookery.caches import Remembered
from rookery.db.listening import Channel
from rookery.pages.routes import page_routes
from rookery.people.login import Login
from rookery.people.passwords import Passwords
from rookery.web.answers import Kit, answer_to, kit_of
from rookery.web.faults import Fault
from rookery.web.guards import BlockedUsers, ClosedSite, CsrfGuard, RequestLimits, ShutdownGuard
from rookery.web.handout import Handout
from rookery.web.house import House
from rookery.web.inventory import entries, meter_routes
from rookery.web.metrics import Traffic
from rookery.web.middleware import (
    Errors,
    Head,
    Measure,
    RequestState,
    SecurityHeaders,
    SessionCookie,
)
from rookery.web.openapi import document, openapi
from rookery.web.probes import healthz, metrics, readyz
from rookery.web.rendering import Templates, read_assets
from rookery.web.session import Ended, Seal, Standing
from rookery.web.short_path import ShortPath
from rookery.web.steps import Readiness
from rookery.web.user_api.runs import user_routes
from rookery.web.v1.routes import v1_routes
from rookery.web.wheel import own_wheel
from rookery.web.worker_api.calls import worker_routes

MOST_REMEMBERED = 1000


def create_app(house: House, extra_routes: Sequence[BaseRoute] = ()) -> Starlette:
    """Opens nothing yet; refuses when a part does not say where it runs."""
    kit = make_kit(house)
    wheel = own_wheel().signed(house.wheel_key)
    for_workers = worker_routes(house.workers, wheel)
    app = Starlette(
        routes=[
            *for_workers,
            *v1_routes(house.api),
            *user_routes(house.api),
            *routes(),
            *Handout(wheel).routes(),
            *extra_routes,
        ],
        middleware=middleware(kit, for_workers),
        exception_handlers={HTTPException: on_refusal, Fault: on_refusal},
        lifespan=_lifespan(house),
    )
    # A redirect would turn a worker's POST into a GET.
    app.router.redirect_slashes = False
    app.state.kit = kit
    app.state.openapi = document(app.routes)
    meter_routes(app.routes, house.meter)
    app.state.inventory = entries(app, (*house.ground_steps, *house.stairs.steps), house.jobs)
    return app


def routes() -> list[BaseRoute]:
    return [
        *page_routes(),
        Route("/healthz", healthz, methods=["GET"]),
        Route("/readyz", readyz, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]


def middleware(kit: Kit, for_workers: Sequence[Route]) -> list[Middleware]:
    """From the outside in; what is further out also sees the answers of what is further in."""
    word = secrets.token_hex(3)
    return [
        Middleware(ShortPath, kit=kit, routes=for_workers, word=f"w{word}"),
        Middleware(RequestState, kit=kit, word=word),
        Middleware(Measure, kit=kit),
        Middleware(SecurityHeaders),
        Middleware(Head),
        Middleware(Errors, kit=kit),
        Middleware(ShutdownGuard, kit=kit),
        Middleware(RequestLimits, kit=kit),
        Middleware(SessionCookie, kit=kit),
        Middleware(CsrfGuard, kit=kit),
        Middleware(BlockedUsers, kit=kit),
        Middleware(ClosedSite, kit=kit),
    ]


def make_kit(house: House) -> Kit:
    assets = read_assets()
    # Only ever compared within this process.
    passwords = Passwords(house.threads, house.clock, key=secrets.token_bytes(32))
    ended = Ended(house.ended_sessions, house.clock)
    standing = Standing(house.users, ended, house.clock, key=lambda: house.secret_keys()[-1])
    house.tidings.on(Channel.SESSIONS, ended.told, ended.missed)
    house.tidings.on(Channel.USERS, standing.forget, standing.forget_all)
    return Kit(
        house=house,
        assets=assets,
        templates=Templates(
            assets, simulated_fleet=house.simulated_fleet, trouble=house.disk.trouble
        ),
        traffic=Traffic(),
        seal=Seal(house.secret_keys, house.clock),
        readiness=Readiness(house.lifecycle, house.database_answers, house.disk, house.clock),
        standing=standing,
        login=Login(house.users, passwords, house.clock),
        contributions=Remembered(house.clock, most=MOST_REMEMBERED),
    )


@runs(Domain.LOOP, "shapes the answer; an error page is rendered in a thread")
async def on_refusal(request: Request, error: Exception) -> Response:
    """Inside the session, so that its changes are kept."""
    return await answer_to(error, request.scope, kit_of(request))


def _lifespan(house: House) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        await house.stairs.start()
        house.lifecycle.started()
        try:
            yield
        finally:
            house.lifecycle.stop()
            await house.stairs.stop()

    return lifespan
