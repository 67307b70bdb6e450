"""Nets and books: list, search, upload and remove, with the storage that a user takes."""

from collections.abc import Awaitable
from dataclasses import replace
from urllib.parse import quote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.boundary.offload import Threads
from rookery.core.model.actor import Actor
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.files.access import RepeatedUpload
from rookery.server.files.blobs import UnknownBlob
from rookery.server.files.books import BookStore, StoredBook, find_visible_book, list_visible_books
from rookery.server.files.engine_files import NetSearch, StoredNet, list_used_nets
from rookery.server.files.uploaders import GivenFiles
from rookery.server.http.error_table import REFUSALS, text_of
from rookery.server.http.faults import NotFound
from rookery.server.http.multipart import read_file_form
from rookery.server.http.pages.filters import read_search, read_text
from rookery.server.http.pages.listing import ListAddress, make_open_pager, read_page
from rookery.server.http.pages.page import redirect_to, tell_outcome
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.scope import BOOKS_PAGE
from rookery.server.http.session import Session

NETS = "/nets"
ROWS = 50
FIRST_BYTES = 8 * 1024
FIRST_OPENINGS = 20


FILE_REMOVED = "its file is removed in a thread"
pages = Pages(BOOKS_PAGE)
routes = pages.make_routes


@pages(f"GET {NETS}", "awaits two queries, rendered in a thread")
async def nets_page(
    query: QueryParams, viewer: Actor | None, given: GivenFiles, privacy: Privacy
) -> Page:
    text, page, access = read_search(query), read_page(query), given.access
    sight, user = access.see(name_of(viewer)), read_text(query, "user")
    search = NetSearch(text, user, sight.hidden, tuple(sight.repeats), (page - 1) * ROWS, ROWS + 1)
    nets = await given.nets.rows.find_page(search)
    active = await given.views.active()
    seen = [run for run in active if privacy.may_see(name_of(viewer), run)]
    address = ListAddress(NETS, {"text": text, "user": user})
    found = [hide_first_upload(net, sight.repeats.get(net.name)) for net in nets[:ROWS]]
    names = {net.name for net in found}
    used = {
        name: privacy.visible_part(viewer, run)
        for run in seen
        for name in names & list_used_nets(run)
    }
    engines = {net.name: access.engine_of(net.name) for net in found}
    engines |= {name: again.engine for name, again in sight.repeats.items()}
    shown = {
        "now": given.clock.now(),
        "address": address,
        "nets": found,
        "engines": engines,
        # Nets that unfinished tests use, each with one of these tests.
        "used": used,
        "removable": [
            net.name for net in found if net.name not in used and _owns(viewer, net.user)
        ],
        "pager": make_open_pager(address, page, more=len(nets) > ROWS),
        "usage": await given.load_usage(viewer),
    }
    return Page("nets.html", shown)


def hide_first_upload(net: StoredNet, again: RepeatedUpload | None) -> StoredNet:
    """A net as its uploader sees it. People who uploaded it again are not told of a private first
    upload."""
    return replace(net, user=again.user, created=again.at, downloads=0) if again else net


def _owns(viewer: Actor | None, user: str) -> bool:
    return viewer is not None and (viewer.approver or viewer.name == user)


@pages(f"POST {NETS}/{{name}}/remove", FILE_REMOVED, back=NETS)
async def remove_net(name: str, viewer: Actor, given: GivenFiles, session: Session) -> Response:
    await _remove(f"net {name}", given.remove_net(name, viewer), session)
    return redirect_to(NETS)


@pages(f"POST {BOOKS_PAGE}/{{name}}/remove", FILE_REMOVED)
async def remove_book(name: str, viewer: Actor, given: GivenFiles, session: Session) -> Response:
    await _remove(f"book {name}", given.remove_book(name, viewer), session)
    return redirect_to(BOOKS_PAGE)


async def _remove(what: str, work: Awaitable[object], session: Session) -> None:
    async def remove() -> str:
        await work
        return f"The {what} is removed."

    await tell_outcome(session, remove())


# Books.


@pages(f"GET {BOOKS_PAGE}", "awaits queries, rendered in a thread")
async def books_page(
    query: QueryParams, viewer: Actor | None, given: GivenFiles, privacy: Privacy
) -> Page:
    return Page("books.html", await _load_books(query, viewer, given, privacy))


@pages(f"POST {BOOKS_PAGE}", "pieces are written, counted and looked at in threads; the page too")
async def upload_book(
    request: Request, viewer: Actor, given: GivenFiles, privacy: Privacy, session: Session
) -> Page | Response:
    form = await read_file_form(request, "book")
    name = form.fields.get("name", "").strip() or form.file_name
    try:
        uploader = given.find_uploader(viewer.name, form.fields.get("engine", ""))
        kept = await given.keep_book(uploader, name, form.pieces)
    except REFUSALS as refused:
        shown = await _load_books(request.query_params, viewer, given, privacy)
        return Page("books.html", {**shown, "error": text_of(refused), "name": name}, 422)
    session.flash(f"{kept.name} is uploaded: {kept.openings:,} openings.")
    return redirect_to(f"{BOOKS_PAGE}/{quote(kept.name)}")


async def _load_books(
    query: QueryParams, viewer: Actor | None, given: GivenFiles, privacy: Privacy
) -> dict[str, object]:
    text, books = read_search(query), given.books
    seen, others = await list_visible_books(books, given.access, name_of(viewer))
    used = {run.plan.book for run in await given.views.active()}
    return {
        "now": given.clock.now(),
        "text": text,
        "books": [book for book in seen if _matches(text, book.name)],
        "others": {each: book for each, book in others.items() if _matches(text, each)},
        "official": books.official,
        "used": used,
        "removable": [
            book.name
            for book in seen
            if _owns(viewer, book.user) and book.blob and book.name not in used
        ],
        "usage": await given.load_usage(viewer),
        "logged_in": viewer is not None,
        "engines": sorted(privacy.catalogue(name_of(viewer)).engines) if viewer else (),
        # Why an upload was not accepted, and the name that was typed.
        "error": "",
        "name": "",
    }


def _matches(text: str, name: str) -> bool:
    return text.casefold() in name.casefold()


@pages(f"GET {BOOKS_PAGE}/{{name}}", "the beginning of the file is read in a thread")
async def book_page(name: str, viewer: Actor | None, given: GivenFiles, threads: Threads) -> Page:
    book = await find_visible_book(given.books, given.access, name_of(viewer), name)
    if book is None:
        raise NotFound("There is no such book here.")
    try:
        first = await threads.files(_read_first, given.books, book)
    except UnknownBlob:
        raise NotFound("This book was removed.") from None
    return Page("book.html", {"book": book, "first": first, "now": given.clock.now()})


def _read_first(store: BookStore, book: StoredBook) -> tuple[str, ...]:
    """The first positions, or the lines of the first games. It blocks."""
    with store.open(book) as file:
        text = file.read(FIRST_BYTES).decode("utf-8", "replace")
    lines = text.splitlines()
    whole = lines if len(text) < FIRST_BYTES else lines[:-1]
    return tuple(line[:200] for line in whole if line.strip())[:FIRST_OPENINGS]
