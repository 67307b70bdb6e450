"""Nets and books: list, search, upload and remove, with the storage that a user takes."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.rules.lifecycle import Actor
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
from rookery.server.http.pages.listing import ListAddress, make_open_pager, read_page
from rookery.server.http.pages.page import (
    redirect_to,
    render_page,
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


@runs(Domain.THREAD, "awaits two queries, rendered in a thread")
async def nets_page(request: Request) -> Response:
    site, viewer = site_of(request), await viewer_of(request)
    text, page = read_search(request.query_params), read_page(request.query_params)
    sight, user = site.file_access.see(name_of(viewer)), read_text(request.query_params, "user")
    search = NetSearch(text, user, sight.hidden, tuple(sight.repeats), (page - 1) * ROWS, ROWS + 1)
    nets = await site.nets.rows.find_page(search)
    active = await site.fleet.views.active()
    seen = [run for run in active if site.privacy.may_see(name_of(viewer), run)]
    address = ListAddress(NETS, {"text": text, "user": user})
    shown = [hide_first_upload(net, sight.repeats.get(net.name)) for net in nets[:ROWS]]
    names = {net.name for net in shown}
    used = {
        name: site.privacy.visible_part(viewer, run)
        for run in seen
        for name in names & list_used_nets(run)
    }
    view = {
        "now": site.clock.now(),
        "address": address,
        "nets": shown,
        "engines": {net.name: _find_engine(site, net, sight.repeats) for net in shown},
        # Nets that unfinished tests use, each with one of these tests.
        "used": used,
        "removable": [
            net.name for net in shown if net.name not in used and _owns(viewer, net.user)
        ],
        "pager": make_open_pager(address, page, more=len(nets) > ROWS),
        "usage": await _load_usage(site, viewer),
    }
    return await render_page(request, "nets.html", view)


def _find_engine(site: Site, net: StoredNet, repeats: Mapping[str, RepeatedUpload]) -> str:
    again = repeats.get(net.name)
    return again.engine if again else site.file_access.engine_of(net.name)


def hide_first_upload(net: StoredNet, again: RepeatedUpload | None) -> StoredNet:
    """A net as its uploader sees it. People who uploaded it again are not told of a private first
    upload."""
    return replace(net, user=again.user, created=again.at, downloads=0) if again else net


def _owns(viewer: Actor | None, user: str) -> bool:
    return viewer is not None and (viewer.approver or viewer.name == user)


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
    site, text = site_of(request), read_search(request.query_params)
    stored, official = await site.books.list_all(), site.books.official
    seen = [each for each in stored if site.file_access.may_see(name_of(viewer), each.name)]
    used = {run.plan.book for run in await site.fleet.views.active()}
    others = sorted(official.keys() - {book.name for book in seen})
    view = {
        "now": site.clock.now(),
        "text": text,
        "books": [book for book in seen if _matches(text, book.name)],
        "others": {other: official[other] for other in others if _matches(text, other)},
        "official": official,
        "used": used,
        "removable": [
            book.name
            for book in seen
            if _owns(viewer, book.user) and book.blob and book.name not in used
        ],
        "usage": await _load_usage(site, viewer),
        "logged_in": viewer is not None,
        "engines": sorted(site.privacy.catalogue(name_of(viewer)).engines) if viewer else (),
        "error": error,
        # The name that was typed.
        "name": name,
    }
    return await render_page(request, "books.html", view, 422 if error else 200)


def _matches(text: str, name: str) -> bool:
    return text.casefold() in name.casefold()


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
    view = {"book": book, "first": first, "now": site.clock.now()}
    return await render_page(request, "book.html", view)


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
