"""`rookery boundaries`: what runs on the event loop, what in threads, what as a stream."""

import argparse
import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import Message, Scope

from rookery import bootstrap
from rookery.boundary.domains import Entry, markdown_inventory, markdown_table, text_table
from rookery.boundary.watch import LoopTime
from rookery.logs import SilentLog
from rookery.settings import Settings
from rookery.web.app import create_app
from rookery.web.house import House

# Where each part of the fleet server that Rookery takes up went: its inventory beside ours.
#
# The rows stand in `mission_map.txt`. Each names the entries of our own inventory that do its
# work; a row whose entries come later says with what they arrive.

COLUMNS = 7
# Long lists in the file: a name for all the routes of these sections.
GROUPS = {"the worker routes": "3 API, worker", "the user routes": "3 API, user"}


class BadRow(ValueError):
    """A row of the mission map does not have its seven columns:"""

    def __str__(self) -> str:
        return f"{self.__doc__} {' '.join(map(str, self.args))}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of theirs, the entries of ours that answer to it, and what is different."""

    document: int
    section: str
    theirs: str
    domain: str
    ours: tuple[str, ...]
    difference: str
    arrives: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An entry that a row names and that does not exist, or a note that has become stale."""

    theirs: str
    what: str


def shipped() -> tuple[Row, ...]:
    """The map that comes with the package."""
    return parse(resources.files("rookery.cli").joinpath("mission_map.txt").read_text("utf-8"))


def parse(text: str) -> tuple[Row, ...]:
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return tuple(map(_row, lines))


def disagreements(rows: Sequence[Row], entries: Iterable[Entry]) -> Iterator[Disagreement]:
    """Rows without a note must name existing entries; rows with one must still wait for some."""
    known = {f"{one.kind} {one.name}" for one in entries}
    for row in rows:
        missing = [name for name in _spelt_out(row.ours, rows) if name not in known]
        if not row.arrives:
            yield from (Disagreement(row.theirs, f"there is no {name}") for name in missing)
        elif not missing:
            yield Disagreement(row.theirs, f"it is here, no longer to arrive with {row.arrives}")


def markdown(rows: Sequence[Row]) -> str:
    """The map as a table."""
    head = ("document", "section", "theirs", "domain", "ours", "what is different")
    return markdown_table(head, map(_cells, rows))


def _row(line: str) -> Row:
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != COLUMNS or not all(columns[:5]):
        raise BadRow(line)
    document, section, theirs, domain, ours, difference, arrives = columns
    return Row(int(document), section, theirs, domain, tuple(ours.split(", ")), difference, arrives)


def _spelt_out(names: Iterable[str], rows: Sequence[Row]) -> Iterator[str]:
    for name in names:
        if name in GROUPS:
            yield from (one for row in rows if row.section == GROUPS[name] for one in row.ours)
        else:
            yield name


def _cells(row: Row) -> tuple[str, ...]:
    ours = ", ".join(name if name in GROUPS else f"`{name}`" for name in row.ours)
    arrives = f"arrives with {row.arrives}" if row.arrives else ""
    different = "; ".join(filter(None, (row.difference, arrives)))
    return (str(row.document), row.section, row.theirs, row.domain, ours, different)


CALLS = 20

HEAD = """\
# Boundaries

What runs where, written by `scripts/boundaries` out of the declarations in the code; a test fails
when it is stale. LOOP is the event loop, THREAD a worker thread, STREAM a source that is read chunk
by chunk. An app with an undeclared part does not start. Loop times: `rookery boundaries`.

## Inventory

"""

MAP_HEAD = """
## Where the parts of the old design went

Each row of the threading model and of the async inventory that Rookery took up, and ours beside it.

"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Lists every route, middleware, error handler and lifespan step with its"
        " domain and the reason, and the loop time that the pages and probes take here and now."
    )
    parser.add_argument(
        "--markdown", action="store_true", help="print docs/boundaries.md instead, without figures"
    )
    parser.set_defaults(run=run)


def run(parsed: argparse.Namespace) -> int:
    app, house = sketched()
    if parsed.markdown:
        print(page(inventory(app)), end="")
    else:
        print(text_table(inventory(app), asyncio.run(measure(app, house))), end="")
    return 0


def sketched() -> tuple[Starlette, House]:
    """The app as `serve` has it, on in-memory twins; the tables do not depend on settings."""
    settings = Settings()
    house = bootstrap.sketch(settings, bootstrap.basis(settings, SilentLog()))
    return create_app(house), house


def inventory(app: Starlette) -> tuple[Entry, ...]:
    entries: tuple[Entry, ...] = app.state.inventory
    return entries


def page(entries: tuple[Entry, ...]) -> str:
    """docs/boundaries.md."""
    mission = markdown(shipped())
    return HEAD + markdown_inventory(entries) + MAP_HEAD + mission


async def measure(app: Starlette, house: House) -> Mapping[str, LoopTime]:
    """Calls every page and probe that needs no arguments a few times."""
    async with app.router.lifespan_context(app):
        for path in plain_pages(app):
            for _ in range(CALLS):
                await visit(app, path)
                # What is answered from memory awaits nothing, and all of it would be one callback.
                await asyncio.sleep(0)
    return house.meter.times()


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
