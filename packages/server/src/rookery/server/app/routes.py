"""The app of a site: its routes, its middleware from the outside in, and its error handlers."""

import secrets
from collections.abc import Sequence
from functools import cache, partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ExceptionHandler

from rookery.core.protocol.user_documents import ARGS_DOCUMENT
from rookery.server.app import frame_page as frame
from rookery.server.app.api_reference.page import routes as api_reference_routes
from rookery.server.app.docs.page import routes as doc_routes
from rookery.server.app.endpoints import ENDPOINTS
from rookery.server.app.features import make_features
from rookery.server.app.jobs import JOBS
from rookery.server.app.site import Site
from rookery.server.app.steps import STEPS
from rookery.server.ask.page import page as ask
from rookery.server.ask.page.view import ASK_FILTERS
from rookery.server.boundary.domains import Domain, Entry, inventory, runs
from rookery.server.contributors import page as contributors
from rookery.server.engines.edit.page import routes as engine_form_routes
from rookery.server.engines.list.page import routes as engine_routes
from rookery.server.engines.repositories import page as repositories
from rookery.server.files.given.page import routes as given_file_routes
from rookery.server.files.programs.page import routes as program_routes
from rookery.server.fishtest.addresses import routes as fishtest_address_routes
from rookery.server.fishtest.forms import routes as fishtest_routes
from rookery.server.fishtest.people import routes as fishtest_people_routes
from rookery.server.http.answers import answer_error, site_of
from rookery.server.http.compression import Compression
from rookery.server.http.endpoint import check_features
from rookery.server.http.error_table import REFUSALS
from rookery.server.http.guards import (
    BlockedUsers,
    ClosedSite,
    CsrfGuard,
    RequestLimits,
    ShutdownGuard,
)
from rookery.server.http.inventory import list_parts, list_steps, meter_routes
from rookery.server.http.middleware import Errors, HeadRequests, SecurityHeaders, SessionCookie
from rookery.server.http.openapi import make_openapi
from rookery.server.http.pages.formatting import FILTERS
from rookery.server.http.rendering import Templates
from rookery.server.http.request_log import Measure, RequestState
from rookery.server.http.to_primary import Forwarding, carry_out_keyed_commands_once
from rookery.server.log.action_rows import LOG_FILTERS
from rookery.server.log.errors.page import routes as error_routes
from rookery.server.log.log.page import routes as log_routes
from rookery.server.machines.add.page import routes as add_machine_routes
from rookery.server.machines.handout import read_script
from rookery.server.machines.handout import routes as handout_routes
from rookery.server.machines.list.page import routes as machine_list_routes
from rookery.server.machines.machine.page import routes as machine_routes
from rookery.server.notify.page.page import routes as notification_routes
from rookery.server.people.accounts_page import routes as account_routes
from rookery.server.people.links_page import routes as link_routes
from rookery.server.people.list import page as users
from rookery.server.people.profile import page as profile
from rookery.server.people.tokens import page as tokens
from rookery.server.runs.calculator.page import routes as sprt_routes
from rookery.server.runs.compare.page import routes as run_compare_routes
from rookery.server.runs.diff.page import routes as run_diff_routes
from rookery.server.runs.elo.page import routes as run_elo_routes
from rookery.server.runs.finished.page import routes as finished_routes
from rookery.server.runs.games.game import routes as game_routes
from rookery.server.runs.games.page import routes as games_routes
from rookery.server.runs.home.page import routes as home_routes
from rookery.server.runs.news.page import routes as news_routes
from rookery.server.runs.progress.page import routes as progress_routes
from rookery.server.runs.raw.page import routes as run_statistics_routes
from rookery.server.runs.run.commands import routes as run_command_routes
from rookery.server.runs.run.page import routes as run_routes
from rookery.server.runs.submit.page import routes as submit_routes
from rookery.server.runs.tasks.page import routes as run_task_routes
from rookery.server.servers.page import routes as server_page_routes
from rookery.server.show.filters import RUN_FILTERS
from rookery.server.teams import page as teams
from rookery.server.worker_api.calls import CALLS, worker_routes
from rookery.server.worker_api.short_path import ShortPath

# The addresses of the pages.


def page_routes() -> list[BaseRoute]:
    return [
        *home_routes(),
        *finished_routes(),
        *account_routes(),
        *link_routes(),
        *notification_routes(),
        *news_routes(),
        *run_routes(),
        *run_command_routes(),
        *run_compare_routes(),
        *run_diff_routes(),
        *run_elo_routes(),
        *game_routes(),
        *games_routes(),
        *run_task_routes(),
        *run_statistics_routes(),
        *add_machine_routes(),
        *machine_list_routes(),
        *machine_routes(),
        *log_routes(),
        *error_routes(),
        *engine_form_routes(),
        *engine_routes(),
        *given_file_routes(),
        *server_page_routes(),
        *api_reference_routes(),
        *doc_routes(),
        *frame.routes(),
        *ask.routes(),
        *profile.routes(),
        *tokens.routes(),
        *users.routes(),
        *teams.routes(),
        *repositories.routes(),
        *contributors.routes(),
        *submit_routes(),
        *fishtest_routes(),
        *fishtest_people_routes(),
        *fishtest_address_routes(),
        *sprt_routes(),
        *progress_routes(),
        *program_routes(),
    ]


# The app: routes, middleware from the outside in, and error handlers.


def add_filters(templates: Templates) -> None:
    """Teach templates to show values: numbers and times, runs, lines of the log, quoted texts."""
    for filters in (FILTERS, RUN_FILTERS, LOG_FILTERS, ASK_FILTERS):
        templates.add_filters(filters)


def create_app(site: Site, extra_routes: Sequence[BaseRoute] = ()) -> Starlette:
    """The app of a site. It blocks, and raises Undeclared if a part does not say where it runs."""
    for_workers = worker_routes(site)
    app = Starlette(
        routes=[*for_workers, *other_routes(), *extra_routes],
        middleware=make_middleware(site, for_workers),
        exception_handlers=HANDLERS,
    )
    list_parts(app.routes, MIDDLEWARE, HANDLERS)
    # A redirect would turn a worker's POST into a GET.
    app.router.redirect_slashes = False
    app.state.site = site
    add_filters(site.templates)
    site.templates.set_pages(route.path for route in app.routes if isinstance(route, Route))
    app.state.features = features = make_features(site)
    check_features(app.routes, features)
    # Takes a tenth of a second, so it is made on first use instead of at the start.
    app.state.make_openapi = cache(partial(make_openapi, app.routes, ARGS_DOCUMENT))
    meter_routes(app.routes, site.meter)
    carry_out_keyed_commands_once(app.routes)
    if site.wheel.name:
        read_script()
    return app


def declared_inventory() -> tuple[Entry, ...]:
    """The inventory of every part of every site, from the declarations alone."""
    workers = [Route(call.path, call, methods=["POST"]) for call in CALLS]
    return (
        *list_parts([*workers, *other_routes()], MIDDLEWARE, HANDLERS),
        *list_steps(STEPS),
        *inventory(("job", job.name, job.part) for job in JOBS),
    )


def other_routes() -> list[BaseRoute]:
    """The routes of programs and people."""
    return [
        *(route for endpoints in ENDPOINTS for route in endpoints.make_routes()),
        *page_routes(),
        *handout_routes(),
    ]


MIDDLEWARE: tuple[Any, ...] = (
    ShortPath,
    RequestState,
    Measure,
    SecurityHeaders,
    HeadRequests,
    Compression,
    Errors,
    ShutdownGuard,
    RequestLimits,
    Forwarding,
    SessionCookie,
    CsrfGuard,
    BlockedUsers,
    ClosedSite,
)
"""The middleware from the outside in. Outer layers also see the answers of inner ones."""


def make_middleware(site: Site, for_workers: Sequence[Route]) -> list[Middleware]:
    word = secrets.token_hex(3)
    more: dict[type, dict[str, object]] = {
        ShortPath: {"site": site, "routes": for_workers, "word": f"w{word}"},
        RequestState: {"site": site, "word": word},
        SecurityHeaders: {},
        HeadRequests: {},
    }
    return [Middleware(layer, **more.get(layer, {"site": site})) for layer in MIDDLEWARE]


@runs(Domain.LOOP, "shapes the answer; an error page is rendered in a thread")
async def on_refusal(request: Request, error: Exception) -> Response:
    """Answer a refusal. Runs inside the session middleware, so that changes to the session are
    kept."""
    return await answer_error(error, request.scope, site_of(request))


HANDLERS: dict[type[Exception], ExceptionHandler] = dict.fromkeys(
    (HTTPException, *REFUSALS), on_refusal
)
