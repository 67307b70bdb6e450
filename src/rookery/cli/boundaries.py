"""`rookery boundaries`: what runs on the event loop, what in threads, what as a stream."""

import asyncio
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Message, Scope

from rookery.app.build import new_process, open_app
from rookery.app.routes import declared_inventory
from rookery.boundary.domains import Entry, markdown_inventory, markdown_matrix, text_table
from rookery.boundary.watch import LoopTime
from rookery.cli.options import option
from rookery.farm.jobs import attempt
from rookery.logs import SilentLog
from rookery.settings import Settings
from rookery.web.scope import Audience, audience_of
from rookery.web.site import Site

CALLS = 20

HEAD = """\
# Boundaries

What runs where, written by `scripts/boundaries` out of the declarations in the code; a test fails
when it is stale. LOOP is the event loop for microseconds, LOOP CPU computes on it in bounded
pieces, THREAD is a worker thread, STREAM a source that is read chunk by chunk. An app with an
undeclared part does not start. `rookery boundaries --measured` shows the measured domain beside the
declared one, and the loop time.

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
    """Where parts of a site are seen to run, which is started for that in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data=Path(folder))
        async with open_app(settings, new_process(settings, SilentLog())) as (app, site):
            return await measure(app, site)


def page(entries: tuple[Entry, ...]) -> str:
    """docs/dev/boundaries.md."""
    matrix = markdown_matrix(grouped(entries))
    return f"{HEAD}{matrix}\n## Inventory\n\n{markdown_inventory(entries)}"


def grouped(entries: tuple[Entry, ...]) -> dict[str, list[Entry]]:
    """The entries by kind, and routes by whom they are for."""
    groups: dict[str, list[Entry]] = {}
    for one in entries:
        path = one.name.rpartition(" ")[2]
        group = ROUTES[audience_of(path)] if one.kind == "route" else one.kind
        groups.setdefault(group, []).append(one)
    return groups


async def measure(app: Starlette, site: Site) -> Mapping[str, LoopTime]:
    """Calls every page and probe that needs no arguments a few times, and does every job."""
    for path in plain_pages(app):
        for _ in range(CALLS):
            await visit(app, path)
            # What is answered from memory awaits nothing, and all of it would be one callback.
            await asyncio.sleep(0)
    for job in site.jobs:
        await site.meter.measure(job.name, attempt(job, site.log))
    return site.meter.times()


def plain_pages(app: Starlette) -> Iterator[str]:
    for route in app.routes:
        if isinstance(route, Route) and "GET" in (route.methods or ()) and "{" not in route.path:
            yield route.path


async def visit(app: Starlette, path: str) -> None:
    """One GET, answered in this process and thrown away; a stream is left once it began."""
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
        """Nobody listens."""

    await app(scope, receive, send)
