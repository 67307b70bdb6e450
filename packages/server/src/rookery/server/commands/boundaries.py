"""`rookery boundaries`: what runs on the event loop, what in threads, what as a stream."""

import asyncio
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
    markdown_inventory,
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

What runs where, written by `scripts/boundaries` out of the declarations in the code; a test fails
when it is stale. LOOP is the event loop for microseconds, LOOP CPU computes on it in bounded
pieces, THREAD is a worker thread, STREAM a source that is read chunk by chunk. An app with an
undeclared part does not start. Of several processes on one database, those that are not primary
send the requests of routes marked `primary` there. `rookery boundaries --measured` shows the
measured domain beside the declared one, and the loop time.

"""

FISHTEST_HEAD = """\
## fishtest's pages

Its calls of workers and programs stand above under their own addresses. Its pages are these here;
an address of its own that is answered leads to ours or does the same.

"""

FISHTEST_VIEWS = {
    "GET /tests": "GET /",
    "GET /tests/finished": "GET /tests",
    "GET /tests/user/{name}": "GET /tests",
    "GET /tests/view/{id}": "GET /runs/{run_id}",
    "GET /tests/tasks/{id}": "GET /runs/{run_id}/tasks",
    "GET /tests/stats/{id}": "GET /runs/{run_id}/stats",
    "GET /tests/live_elo/{id}": "GET /runs/{run_id}/elo",
    "GET,POST /tests/run": "GET,POST /tests/new",
    "POST /tests/approve": "POST /runs/{run_id}/{command}",
    "POST /tests/modify": "POST /runs/{run_id}/{command}",
    "POST /tests/stop": "POST /runs/{run_id}/{command}",
    "POST /tests/purge": "POST /runs/{run_id}/{command}",
    "POST /tests/delete": "POST /runs/{run_id}/{command}",
    "GET /tests/machines": "GET /machines",
    "GET /workers/{name}": "GET /machines/{worker}",
    "POST /workers/{name}": "POST /machines/{worker}/block",
    "GET /actions": "GET /log",
    "GET /contributors": "GET /contributors",
    "GET /contributors/monthly": "GET /contributors",
    "GET /nns": "GET /nets",
    "GET,POST /upload": "GET,POST /upload",
    "GET /sprt_calc": "GET /sprt",
    "GET /tests/view/{id}/detail": "GET /runs/{run_id}",
    "GET /tests/live_elo_update/{id}": "GET /api/get_elo/{run_id}",
    "GET /rate_limits": "GET /server",
    "GET /rate_limits/server": "GET /api/rate_limit",
    "GET /user_management/pending_count": "GET /users",
    "GET,POST /login": "GET,POST /login",
    "POST /logout": "POST /logout",
    "GET,POST /signup": "GET,POST /signup",
    "GET /user": "GET /profile",
    "POST /user": "POST /profile/password",
    "GET /user/{name}": "GET /users/{user}",
    "POST /user/{name}": "POST /users/{user}/{command}",
    "GET /user_management": "GET /users",
}
"""The pages here that correspond to fishtest's pages."""

JOBS_HEAD = """\
## Jobs of several servers

Which processes on one database do a job: the primary alone, or any.

"""

ROUTES = {
    Audience.WORKER: "routes for workers",
    Audience.PROGRAM: "routes for programs",
    Audience.PERSON: "routes for people",
}


def boundaries(
    *,
    markdown: Annotated[bool, option("print docs/dev/boundaries.md, without figures")] = False,
    measured: Annotated[
        bool,
        option(
            "start a site of its own, and show where its pages, probes and jobs were seen to run"
        ),
    ] = False,
) -> None:
    """List every route, middleware, error handler, step of the start and job with its domain and
    the reason, as the code declares them."""
    entries = declared_inventory()
    if markdown:
        print(page(entries), end="")
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
    inventory = markdown_inventory(entries)
    views = f"{FISHTEST_HEAD}{markdown_views(entries)}"
    return f"{HEAD}{matrix}\n## Inventory\n\n{inventory}\n{JOBS_HEAD}{markdown_jobs()}\n{views}"


def markdown_jobs() -> str:
    """A table of which processes run which jobs."""
    rows = ((job.name, job.where.value, job.why) for job in JOBS)
    return markdown_table(("job", "done by", "why"), rows)


def markdown_views(entries: tuple[Entry, ...]) -> str:
    """A table of the pages that correspond to fishtest's. Raises an error if one of them does not
    exist."""
    named = {one.name: one for one in entries if one.kind == "route"}
    known = {(method, shape) for name in named for method, shape in shapes_of(name)}
    rows = (
        (
            f"`{view}`",
            f"`{here}`",
            named[here].domain.value,
            "yes" if known.issuperset(shapes_of(view)) else "no",
        )
        for view, here in FISHTEST_VIEWS.items()
    )
    return markdown_table(("fishtest", "here", "domain", "its address is answered"), rows)


def shapes_of(name: str) -> Iterator[tuple[str, str]]:
    """Each method of a route with its path, with the names of path parameters replaced."""
    methods, _, path = name.rpartition(" ")
    parts = ("{}" if part.startswith("{") else part for part in path.split("/"))
    shape = "/".join(parts)
    for method in methods.split(","):
        yield method, shape


def grouped(entries: tuple[Entry, ...]) -> dict[str, list[Entry]]:
    """The entries by kind, and routes by audience."""
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
