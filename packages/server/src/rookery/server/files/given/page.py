"""Nets and books: list, search, upload and remove, with the storage that a user takes."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.books import OfficialBook
from rookery.core.model.run import Run
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.run_description import name_test
from rookery.server.files.access import RepeatedUpload, StoredUsage
from rookery.server.files.api import remove_given_book, remove_given_net
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.books import BookStore, StoredBook
from rookery.server.files.engine_files import NetSearch, StoredNet, list_used_nets
from rookery.server.files.uploaders import Uploader, check_name
from rookery.server.http.answers import site_of
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import NotFound
from rookery.server.http.multipart import read_file_form
from rookery.server.http.pages.filters import read_search, read_text
from rookery.server.http.pages.listing import ListAddress, Pager, make_open_pager, read_page
from rookery.server.http.pages.page import (
    redirect_to,
    render_page,
    render_page_in_thread,
    viewer_of,
)
from rookery.server.http.scope import BOOKS_PAGE, session_of

Removal = Callable[[Site, str, Actor], Awaitable[object]]

NETS = "/nets"
ROWS = 50
FIRST_BYTES = 8 * 1024
FIRST_OPENINGS = 20


async def _load_usage(site: Site, viewer: Actor | None) -> StoredUsage | None:
    if viewer is None:
        return None
    return await site.file_access.rows.load_usage(viewer.name, site.upload_quota)


# Nets.


@dataclass(frozen=True, slots=True)
class NetsData:
    """The data for the page of nets, without what the visitor may not see."""

    now: datetime
    viewer: Actor | None
    address: ListAddress
    page: int
    nets: tuple[StoredNet, ...]
    repeats: Mapping[str, RepeatedUpload]
    engines: Mapping[str, str]
    used: Mapping[str, str]
    """Nets that unfinished tests use, each with one of these tests."""
    names: Mapping[str, str]
    """The names of unfinished tests."""
    usage: StoredUsage | None


@dataclass(frozen=True, slots=True)
class NetRow:
    """A net with its engine, a test that uses it, and whether this visitor may remove it."""

    net: StoredNet
    engine: str
    run: str
    run_name: str
    may_remove: bool


@dataclass(frozen=True, slots=True)
class NetsView:
    address: ListAddress
    rows: tuple[NetRow, ...]
    pager: Pager
    usage: StoredUsage | None
    now: datetime


@runs(Domain.THREAD, "awaits two queries, rendered in a thread")
async def nets_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    text, page = read_search(request.query_params), read_page(request.query_params)
    sight, user = site.file_access.see(name_of(viewer)), read_text(request.query_params, "user")
    search = NetSearch(text, user, sight.hidden, tuple(sight.repeats), (page - 1) * ROWS, ROWS + 1)
    nets = await site.nets.rows.find_page(search)
    active = await site.fleet.views.active()
    seen = [run for run in active if site.privacy.may_see(name_of(viewer), run)]
    data = NetsData(
        now=site.clock.now(),
        viewer=viewer,
        address=ListAddress(NETS, {"text": text, "user": user}),
        page=page,
        nets=nets,
        repeats=sight.repeats,
        engines={net.name: site.file_access.engine_of(net.name) for net in nets},
        used=_find_used(seen),
        names={run.id: name_test(site.privacy.visible_part(viewer, run)) for run in seen},
        usage=await _load_usage(site, viewer),
    )
    return await render_page_in_thread(request, "nets.html", make_nets_view, data)


def _find_used(runs: Iterable[Run]) -> dict[str, str]:
    return {name: run.id for run in runs for name in list_used_nets(run)}


def make_nets_view(data: NetsData) -> NetsView:
    return NetsView(
        data.address,
        tuple(_make_net_row(net, data) for net in data.nets[:ROWS]),
        make_open_pager(data.address, data.page, more=len(data.nets) > ROWS),
        data.usage,
        data.now,
    )


def _make_net_row(net: StoredNet, data: NetsData) -> NetRow:
    """The row of a net. People who uploaded it again are not told of a private first upload."""
    again, viewer, run = data.repeats.get(net.name), data.viewer, data.used.get(net.name, "")
    shown = replace(net, user=again.user, created=again.at, downloads=0) if again else net
    return NetRow(
        net=shown,
        engine=again.engine if again else data.engines[net.name],
        run=run,
        run_name=data.names.get(run, ""),
        may_remove=viewer is not None and not run and _owns(viewer, shown.user),
    )


def _owns(viewer: Actor, user: str) -> bool:
    return viewer.approver or viewer.name == user


@runs(Domain.THREAD, "its file is removed in a thread")
async def remove_net(request: Request) -> Response:
    return await _remove(request, "net", NETS, remove_given_net)


@runs(Domain.THREAD, "its file is removed in a thread")
async def remove_book(request: Request) -> Response:
    return await _remove(request, "book", BOOKS_PAGE, remove_given_book)


async def _remove(request: Request, kind: str, back: str, work: Removal) -> Response:
    name, actor = str(request.path_params["name"]), await viewer_of(request)
    session = session_of(request.scope)
    if actor is None:
        return redirect_to(f"/login?next={back}")
    try:
        await work(site_of(request), name, actor)
        session.flash(f"The {kind} {name} is removed.")
    except REFUSALS as refused:
        session.flash(text_of(refused), "error")
    return redirect_to(back)


# Books.


@dataclass(frozen=True, slots=True)
class BooksData:
    """The data for the page of books, without what the visitor may not see."""

    now: datetime
    viewer: Actor | None
    text: str
    books: tuple[StoredBook, ...]
    official: Mapping[str, OfficialBook]
    used: frozenset[str]
    usage: StoredUsage | None
    engines: tuple[str, ...] = ()
    error: str = ""
    name: str = ""
    """The name that was typed."""


@dataclass(frozen=True, slots=True)
class BookRow:
    """A book. One that is not stored here is downloaded by workers from elsewhere."""

    name: str
    openings: int
    kept: StoredBook | None
    official: bool
    used: bool
    may_remove: bool


@dataclass(frozen=True, slots=True)
class BooksView:
    text: str
    rows: tuple[BookRow, ...]
    usage: StoredUsage | None
    logged_in: bool
    engines: tuple[str, ...]
    error: str
    name: str
    now: datetime


@runs(Domain.THREAD, "pieces are written, counted and looked at in threads; the page too")
async def books_page(request: Request) -> Response:
    """GET returns the list, POST stores the posted book."""
    viewer = await viewer_of(request)
    if request.method != "POST":
        return await _show_books(request, viewer)
    if viewer is None:
        return redirect_to(f"/login?next={BOOKS_PAGE}")
    form = await read_file_form(request, "book")
    site, name = site_of(request), form.fields.get("name", "").strip() or form.file_name
    uploader = Uploader(viewer.name, form.fields.get("engine", ""))
    try:
        site.file_access.check_engine(viewer.name, uploader.engine)
        check_name(site, uploader, name)
        async with site.upload_bodies.place(viewer.name):
            kept = await site.books.upload(form.pieces, name, viewer.name, uploader.engine)
    except REFUSALS as refused:
        return await _show_books(request, viewer, text_of(refused), name)
    if kept.user == viewer.name:
        await site.file_access.add(kept.name, uploader.engine)
    session_of(request.scope).flash(f"{kept.name} is uploaded: {kept.openings:,} openings.")
    return redirect_to(f"{BOOKS_PAGE}/{quote(kept.name)}")


async def _show_books(
    request: Request, viewer: Actor | None, error: str = "", name: str = ""
) -> Response:
    site = site_of(request)
    kept = await site.books.list_all()
    seen = tuple(each for each in kept if site.file_access.may_see(name_of(viewer), each.name))
    active = await site.fleet.views.active()
    engines = site.privacy.catalogue(name_of(viewer)).engines if viewer else {}
    data = BooksData(
        now=site.clock.now(),
        viewer=viewer,
        text=read_search(request.query_params),
        books=seen,
        official=site.books.official,
        used=frozenset(run.plan.book for run in active),
        usage=await _load_usage(site, viewer),
        engines=tuple(sorted(engines)),
        error=error,
        name=name,
    )
    status = 422 if error else 200
    return await render_page_in_thread(request, "books.html", make_books_view, data, status)


def make_books_view(data: BooksData) -> BooksView:
    text = data.text.casefold()
    rows = (row for row in _list_books(data) if text in row.name.casefold())
    return BooksView(
        data.text,
        tuple(rows),
        data.usage,
        data.viewer is not None,
        data.engines,
        data.error,
        data.name,
        data.now,
    )


def _list_books(data: BooksData) -> Iterator[BookRow]:
    """The books, stored ones first."""
    kept = {book.name for book in data.books}
    for book in data.books:
        yield _make_book_row(book, data)
    for name, other in sorted(data.official.items()):
        if name not in kept:
            yield BookRow(name, other.openings, None, True, name in data.used, False)


def _make_book_row(book: StoredBook, data: BooksData) -> BookRow:
    viewer, used = data.viewer, book.name in data.used
    own = viewer is not None and _owns(viewer, book.user)
    return BookRow(
        name=book.name,
        openings=book.openings,
        kept=book,
        official=book.name in data.official,
        used=used,
        may_remove=own and bool(book.blob) and not used,
    )


@dataclass(frozen=True, slots=True)
class BookView:
    """A stored book with its first openings."""

    book: StoredBook
    first: tuple[str, ...]
    now: datetime


@runs(Domain.THREAD, "the beginning of the file is read in a thread")
async def book_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    name = str(request.path_params["name"])
    book = await site.books.by_name(name)
    if book is None or not site.file_access.may_see(name_of(viewer), name):
        raise NotFound("There is no such book here.")
    try:
        first = await site.threads.files(_read_first, site.books, book)
    except UnknownBlob:
        raise NotFound("This book was removed.") from None
    return await render_page(request, "book.html", BookView(book, first, site.clock.now()))


def _read_first(store: BookStore, book: StoredBook) -> tuple[str, ...]:
    """The first positions, or the lines of the first games. It blocks."""
    with store.open(book) as file:
        text = file.read(FIRST_BYTES).decode("utf-8", "replace")
    lines = text.splitlines()
    whole = lines if len(text) < FIRST_BYTES else lines[:-1]
    return tuple(line[:200] for line in whole if line.strip())[:FIRST_OPENINGS]


def routes() -> list[BaseRoute]:
    return [
        Route(NETS, nets_page, methods=["GET"]),
        Route(f"{NETS}/{{name}}/remove", remove_net, methods=["POST"]),
        Route(BOOKS_PAGE, books_page, methods=["GET", "POST"]),
        Route(f"{BOOKS_PAGE}/{{name}}", book_page, methods=["GET"]),
        Route(f"{BOOKS_PAGE}/{{name}}/remove", remove_book, methods=["POST"]),
    ]
