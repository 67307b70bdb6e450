"""The app: routes, middleware from the outside in, and error handlers."""

import secrets
from collections.abc import Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.boundary.domains import Domain, runs
from rookery.pages.routes import page_routes
from rookery.web.answers import answer_to, site_of
from rookery.web.faults import Fault
from rookery.web.guards import BlockedUsers, ClosedSite, CsrfGuard, RequestLimits, ShutdownGuard
from rookery.web.handout import Handout
from rookery.web.inventory import entries, meter_routes
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
from rookery.web.short_path import ShortPath
from rookery.web.site import Site
from rookery.web.steps import Step
from rookery.web.user_api.runs import user_routes
from rookery.web.v1.routes import v1_routes
from rookery.web.worker_api.calls import worker_routes


def create_app(
    site: Site, extra_routes: Sequence[BaseRoute] = (), steps: tuple[Step, ...] = ()
) -> Starlette:
    """The app of a site; refuses when a part does not say where it runs."""
    for_workers = worker_routes(site)
    app = Starlette(
        routes=[
            *for_workers,
            *v1_routes(site),
            *user_routes(site),
            *routes(),
            *Handout(site.wheel).routes(),
            *extra_routes,
        ],
        middleware=middleware(site, for_workers),
        exception_handlers={HTTPException: on_refusal, Fault: on_refusal},
    )
    # A redirect would turn a worker's POST into a GET.
    app.router.redirect_slashes = False
    app.state.site = site
    app.state.openapi = document(app.routes)
    meter_routes(app.routes, site.meter)
    app.state.inventory = entries(app, steps, site.jobs)
    return app


def routes() -> list[BaseRoute]:
    return [
        *page_routes(),
        Route("/healthz", healthz, methods=["GET"]),
        Route("/readyz", readyz, methods=["GET"]),
        Route("/metrics", metrics, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]


def middleware(site: Site, for_workers: Sequence[Route]) -> list[Middleware]:
    """From the outside in; what is further out also sees the answers of what is further in."""
    word = secrets.token_hex(3)
    return [
        Middleware(ShortPath, site=site, routes=for_workers, word=f"w{word}"),
        Middleware(RequestState, site=site, word=word),
        Middleware(Measure, site=site),
        Middleware(SecurityHeaders),
        Middleware(Head),
        Middleware(Errors, site=site),
        Middleware(ShutdownGuard, site=site),
        Middleware(RequestLimits, site=site),
        Middleware(SessionCookie, site=site),
        Middleware(CsrfGuard, site=site),
        Middleware(BlockedUsers, site=site),
        Middleware(ClosedSite, site=site),
    ]


@runs(Domain.LOOP, "shapes the answer; an error page is rendered in a thread")
async def on_refusal(request: Request, error: Exception) -> Response:
    """Inside the session, so that its changes are kept."""
    return await answer_to(error, request.scope, site_of(request))
