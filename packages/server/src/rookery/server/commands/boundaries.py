"""`rookery boundaries`: what runs on the event loop, what in threads, what as a stream."""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Message, Scope

from rookery.core.boundary.watch import LoopTime
from rookery.core.command import option
from rookery.server.app.build import new_process, open_app
from rookery.server.app.jobs import JOBS
from rookery.server.app.routes import declared_inventory
from rookery.server.app.site import Site
from rookery.server.boundary.domains import (
    Entry,
    aligned,
    markdown_matrix,
    markdown_table,
    text_table,
)
from rookery.server.farm.jobs import attempt
from rookery.server.http.scope import Audience, audience_of
from rookery.server.logs import SilentLog
from rookery.server.settings import Settings

CALLS = 20

HEAD = """\
# Boundaries

LOOP is the event loop for microseconds, LOOP CPU computes on it in bounded pieces, THREAD is a
worker thread, STREAM a source that is read chunk by chunk. An app with an undeclared part does not
start. `rookery boundaries` prints every part with its domain and the reason, `--measured` also
where it was seen to run for strangers and for how long, `--jobs` which servers do which jobs. With
logins, tokens and parameters on a farm at work, `packages/server/tests/wire/test_loop_time.py`
fails where a part computes for more than a millisecond on the loop without declaring it. This page
has the numbers and a digest of all that; `scripts/boundaries` writes it, and a test fails when it
is stale.

"""

MISSION_HEAD = """\
## fishtest's inventory

Each row of the inventory of fishtest's threading model, where it runs there, and what does the same
here.

"""

MISSION: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("`lifespan()`, `create_app()`", "LOOP", ("fleet",)),
    ("`AppSettings.from_env()`, one process", "LOOP", ()),
    ("`RunDb(...)`", "THREAD", ("database", "pool", "schema")),
    ("`gh.init(...)`", "THREAD", ("quota",)),
    ("`update_aggregated_data()`", "THREAD", ("sums", "user statistics")),
    ("`schedule_tasks()`, `scheduler.stop()`", "THREAD", ("fleet jobs",)),
    ("`run_cache.flush_all()`", "THREAD", ("fleet",)),
    ("`conn.close()`", "THREAD", ("pool",)),
    ("`FishtestSessionMiddleware`", "LOOP", ("SessionCookie",)),
    ("`ShutdownGuardMiddleware`, `_shutdown_rundb`", "LOOP", ("ShutdownGuard",)),
    ("`AttachRequestStateMiddleware`", "LOOP", ("RequestState",)),
    ("`RejectNonPrimaryWorkerApiMiddleware`", "LOOP", ("Forwarding",)),
    ("`RedirectBlockedUiUsersMiddleware`", "LOOP, THREAD", ("BlockedUsers",)),
    ("`HeadMethodMiddleware`", "LOOP", ("HeadRequests",)),
    ("route wrappers, `_make_request_shim`", "LOOP, CPU", ("ShortPath",)),
    ("`WorkerApi.request_version`", "THREAD", ("POST /api/request_version",)),
    ("`WorkerApi.request_task`", "THREAD", ("POST /api/request_task",)),
    ("`WorkerApi.update_task`", "THREAD", ("POST /api/update_task",)),
    ("`WorkerApi.beat`", "THREAD", ("POST /api/beat",)),
    ("`WorkerApi.request_spsa`", "THREAD", ("POST /api/request_spsa",)),
    ("`WorkerApi.failed_task`", "THREAD", ("POST /api/failed_task",)),
    ("`WorkerApi.stop_run`", "THREAD", ("POST /api/stop_run",)),
    ("`WorkerApi.upload_pgn`", "THREAD", ("POST /api/upload_pgn",)),
    ("`WorkerApi.worker_log`", "THREAD", ("POST /api/worker_log",)),
    ("`UserApi.rate_limit`", "THREAD", ("GET /api/rate_limit",)),
    ("`UserApi.active_runs`", "THREAD", ("GET /api/active_runs",)),
    ("`UserApi.finished_runs`", "THREAD", ("GET /api/finished_runs",)),
    ("`UserApi.actions`", "THREAD", ("POST /api/actions",)),
    ("`UserApi.get_run`", "THREAD", ("GET /api/get_run/{run_id}",)),
    ("`UserApi.get_task`", "THREAD", ("GET /api/get_task/{run_id}/{task_id}",)),
    ("`UserApi.get_elo`", "THREAD", ("GET /api/get_elo/{run_id}",)),
    ("`UserApi.calc_elo`", "THREAD", ("GET /api/calc_elo",)),
    ("`UserApi.download_pgn`", "STREAM", ("GET /api/pgn/{name}",)),
    ("`UserApi.download_run_pgns`", "STREAM", ("GET /api/run_pgns/{name}",)),
    ("`UserApi.download_nn`", "THREAD", ("GET /api/nn/{name}",)),
    ("`_dispatch_view()`, forms, CSRF", "LOOP, CPU", ("CsrfGuard",)),
    ("29 views, their templates", "THREAD", ("GET /", "GET /runs/{run_id}")),
    ("`_http_exception_handler`, `_request_validation_handler`", "LOOP", ("HTTPException",)),
    ("`_unhandled_exception_handler`", "LOOP", ("Errors",)),
    ("`render_notfound_response`, `render_forbidden_response`", "THREAD", ("HTTPException",)),
)
"""The rows of fishtest's threading model and of its inventory, the domain that each has there, and
the names of the entries here that do the same. Settings are read before there is a loop."""

ROUTES = {
    Audience.WORKER: "routes for workers",
    Audience.PROGRAM: "routes for programs",
    Audience.PERSON: "routes for people",
}


def boundaries(
    *,
    jobs: Annotated[bool, option("print which servers do which jobs, and why")] = False,
    markdown: Annotated[bool, option("print docs/dev/boundaries.md: numbers and a digest")] = False,
    measured: Annotated[
        bool,
        option(
            "start a site of its own, and show where its jobs, and its pages and probes without"
            " parameters, were seen to run for visitors who are not logged in"
        ),
    ] = False,
) -> None:
    """List every route, middleware, error handler, step of the start and job with its domain and
    the reason, as the code declares them."""
    entries = declared_inventory()
    if markdown:
        print(page(entries), end="")
    elif jobs:
        print(jobs_table(), end="")
    else:
        times = asyncio.run(measure_here()) if measured else {}
        print(text_table(entries, times), end="")


async def measure_here() -> Mapping[str, LoopTime]:
    """Start a site in a temporary folder, and measure where its parts run."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        async with open_app(settings, new_process(settings, SilentLog())) as (app, site):
            return await measure(app, site)


def page(entries: tuple[Entry, ...]) -> str:
    """docs/dev/boundaries.md."""
    matrix = markdown_matrix(grouped(entries))
    head = ("fishtest", "runs in", "here", "runs in")
    missions = markdown_table(head, rows_of_fishtest(entries))
    return f"{HEAD}{matrix}\nDigest: `{digest(entries)}`\n\n{MISSION_HEAD}{missions}"


def rows_of_fishtest(entries: tuple[Entry, ...]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of fishtest's inventory with ours. Raise KeyError if one of ours does not
    exist."""
    named = {one.name: one for one in entries}
    for theirs, domain, names in MISSION:
        ours = [named[name] for name in names]
        here = ", ".join(f"{one.kind} `{one.name}`" for one in ours)
        yield theirs, domain, here, ", ".join(dict.fromkeys(one.domain.value for one in ours))


def digest(entries: tuple[Entry, ...]) -> str:
    """Return a digest that changes with any declaration: a name, a domain, a reason, or who does a
    job."""
    return hashlib.sha256((text_table(entries) + jobs_table()).encode()).hexdigest()[:16]


def jobs_table() -> str:
    """Which servers on one database do which jobs: the primary alone, or any."""
    rows = [(job.name, job.where.value, job.why) for job in JOBS]
    return aligned([("JOB", "DONE BY", "WHY"), *rows])


def grouped(entries: tuple[Entry, ...]) -> dict[str, list[Entry]]:
    """Return the entries by kind, and routes by audience."""
    groups: dict[str, list[Entry]] = {}
    for one in entries:
        path = one.name.rpartition(" ")[2]
        group = ROUTES[audience_of(path)] if one.kind == "route" else one.kind
        groups.setdefault(group, []).append(one)
    return groups


async def measure(app: Starlette, site: Site) -> Mapping[str, LoopTime]:
    """Call every page and probe without arguments a few times, and run every job."""
    for path in plain_pages(app):
        for _ in range(CALLS):
            await visit(app, path)
            # Answers from memory await nothing; without this, all of them would be one callback.
            await asyncio.sleep(0)
    for job in site.jobs:
        await site.meter.measure(job.name, attempt(job, site.log))
    return site.meter.times()


def plain_pages(app: Starlette) -> Iterator[str]:
    for route in app.routes:
        if isinstance(route, Route) and "GET" in (route.methods or ()) and "{" not in route.path:
            yield route.path


async def visit(app: Starlette, path: str) -> None:
    """Make one GET request in this process and drop the answer. A stream is left once it has
    begun."""
    scope: Scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }

    said: Iterator[Message] = iter(({"type": "http.request", "body": b"", "more_body": False},))

    async def receive() -> Message:
        return next(said, {"type": "http.disconnect"})

    async def send(_message: Message) -> None:
        """Drop the message."""

    await app(scope, receive, send)
