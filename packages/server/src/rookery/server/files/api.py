"""Opening books, nets and programs that people upload: list, upload and remove."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from functools import partial
from typing import TypeVar

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.books import OfficialBook
from rookery.core.model.events import Action, about_net
from rookery.core.protocol import v1
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.files.access import RepeatedUpload
from rookery.server.files.books import StoredBook
from rookery.server.files.engine_files import StoredNet
from rookery.server.files.store import NotYourFile, UnknownFile
from rookery.server.files.uploaders import Uploader, check_name, note_repeat, require_uploader
from rookery.server.http import queries
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_pieces
from rookery.server.http.callers import require_bearer, translated_errors, viewer_name
from rookery.server.http.faults import NotFound
from rookery.server.http.openapi import Operation, described
from rookery.server.people.users import Scope

BY_BOOK = {"name": v1.BookName}
T = TypeVar("T")


async def store_body(
    site: Site,
    request: Request,
    user: str,
    take: Callable[[AsyncIterator[bytes]], Awaitable[T]],
) -> T:
    """Pass the body of a request to a store piece by piece, so that it is never whole in memory.
    Raises BadRequest, Conflict or BodyTooLarge."""
    with translated_errors():
        async with site.upload_bodies.place(user):
            return await take(read_pieces(request.receive))


# Users who may submit runs may upload books; a book's uploader may remove it.


@described(Operation("All books that runs can be played from", {200: v1.BookList}))
@runs(Domain.LOOP, "awaits one query; what the package brings is read once, in a thread")
async def list_books(request: Request) -> Response:
    site = site_of(request)
    viewer = await viewer_name(request, site.bearers)
    kept = await site.books.list_all()
    seen = [book for book in kept if site.file_access.may_see(viewer, book.name)]
    return json_answer(v1.BookList(books=tuple(_listed(site, seen))))


@described(Operation("A book", {200: v1.BookEntry}, path=BY_BOOK))
@runs(Domain.LOOP, "awaits one query; what the package brings is read once, in a thread")
async def get_book(request: Request) -> Response:
    site = site_of(request)
    name = _name(request)
    viewer = await viewer_name(request, site.bearers)
    kept = await site.books.by_name(name)
    if kept is not None and site.file_access.may_see(viewer, name):
        return json_answer(_entry(site, kept))
    official = site.books.official.get(name)
    if official is None:
        raise NotFound("There is no such book.")
    return json_answer(_elsewhere(official))


@described(
    Operation(
        "Upload a book",
        {200: v1.BookEntry},
        path=BY_BOOK,
        query={"engine": v1.Name},
        raw_body=True,
        bearer=True,
    )
)
@runs(Domain.THREAD, "pieces are written, counted and looked at in threads")
async def put_book(request: Request) -> Response:
    site = site_of(request)
    name = _name(request)
    uploader = await require_uploader(request, site)
    check_name(site, uploader, name)
    take = partial(site.books.upload, name=name, user=uploader.user, engine=uploader.engine)
    kept = await store_body(site, request, uploader.user, take)
    if kept.user == uploader.user:
        await site.file_access.add(kept.name, uploader.engine)
    return json_answer(_entry(site, kept))


@described(Operation("Remove a book", {200: v1.BookEntry}, path=BY_BOOK, bearer=True))
@runs(Domain.THREAD, "its file is removed in a thread")
async def remove_book(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.SUBMIT)
    name = _name(request)
    with translated_errors():
        removed = await remove_given_book(site, name, bearer.actor)
    return json_answer(_entry(site, removed))


async def remove_given_book(site: Site, name: str, actor: Actor) -> StoredBook:
    """Remove an uploaded book. Raises UnknownFile, NotYourFile or FileInUse."""
    if not site.file_access.may_see(actor.name, name):
        raise UnknownFile(kind="book", name=name)
    removed = await site.books.remove(name, actor, await site.fleet.views.active())
    await site.file_access.remove(name)
    return removed


def _name(request: Request) -> str:
    return str(request.path_params["name"])


def _name_given(request: Request) -> str:
    """The name that the sender gives the file. Raises BadRequest."""
    with translated_errors():
        return queries.read_name(request.query_params, "name")


def _listed(site: Site, kept: Iterable[StoredBook]) -> Iterator[v1.BookEntry]:
    """The books to list: uploaded ones first, then those of the package."""
    found = {book.name: book for book in kept}
    yield from (_entry(site, book) for book in found.values())
    yield from (
        _elsewhere(book) for name, book in sorted(site.books.official.items()) if name not in found
    )


def _entry(site: Site, book: StoredBook) -> v1.BookEntry:
    return v1.BookEntry(
        name=book.name,
        openings=book.openings,
        sri=book.sri,
        official=book.name in site.books.official,
        kept=True,
        size=book.size,
        sha256=book.sha256,
        user=book.user,
        created=book.created,
    )


def _elsewhere(book: OfficialBook) -> v1.BookEntry:
    return v1.BookEntry(
        name=book.name, openings=book.openings, sri=book.sri, official=True, kept=False
    )


# Nets: listed, uploaded by programs, and removed.

BY_NET = {"name": v1.Name}


# Nets of a private engine are visible to its team only.


@described(Operation("All nets, newest first", {200: v1.NetList}))
@runs(Domain.LOOP, "awaits one query")
async def list_nets(request: Request) -> Response:
    site = site_of(request)
    viewer = await viewer_name(request, site.bearers)
    nets = await site.nets.rows.list_all()
    seen = [net for net in nets if site.file_access.may_see(viewer, net.name)]
    shown = (_nets_entry(net, site.file_access.visible_repeat(viewer, net.name)) for net in seen)
    return json_answer(v1.NetList(nets=tuple(shown)))


@described(
    Operation(
        "Upload a net",
        {201: v1.NetEntry},
        raw_body=True,
        query={"name": v1.Name, "engine": v1.Name},
        bearer=True,
    )
)
@runs(Domain.THREAD, "pieces are digested, packed and written in threads")
async def upload_net(request: Request) -> Response:
    site = site_of(request)
    uploader = await require_uploader(request, site)
    pieces = read_pieces(request.receive)
    return json_answer(await keep_net(site, uploader, _name_given(request), pieces), 201)


async def keep_net(
    site: Site, uploader: Uploader, file_name: str, pieces: AsyncIterator[bytes]
) -> v1.NetEntry:
    """Store an uploaded net, from a form or the API. Raises BadRequest or BodyTooLarge."""
    with translated_errors():
        async with site.upload_bodies.place(uploader.user):
            net, is_new = await site.nets.upload(pieces, file_name, uploader.user, uploader.engine)
    if not is_new:
        return _nets_entry(net, await note_repeat(site, uploader, net.name, net.size))
    await site.file_access.add(net.name, uploader.engine)
    await _note_net(site, net, uploader.user, uploader.engine)
    return _nets_entry(net)


@described(Operation("Remove a net", {200: v1.NetEntry}, path=BY_NET, bearer=True))
@runs(Domain.THREAD, "its file is removed in a thread")
async def remove_net(request: Request) -> Response:
    site = site_of(request)
    name = str(request.path_params["name"])
    actor = (await require_bearer(request, site.bearers, Scope.SUBMIT, Scope.APPROVE)).actor
    with translated_errors():
        return json_answer(await remove_given_net(site, name, actor))


async def remove_given_net(site: Site, name: str, actor: Actor) -> v1.NetEntry:
    """Remove an uploaded net. Raises UnknownFile, NotYourFile or FileInUse."""
    if not site.file_access.may_see(actor.name, name):
        raise UnknownFile(kind="net", name=name)
    if (again := site.file_access.visible_repeat(actor.name, name)) is not None:
        return await _remove_repeat(site, name, again, actor)
    removed = await site.nets.remove(name, actor, await site.fleet.views.active())
    engine = site.file_access.engine_of(name)
    await site.file_access.remove(name)
    await _note_net(site, removed, actor.name, engine, Action.REMOVE_NN)
    return _nets_entry(removed)


async def _remove_repeat(site: Site, name: str, again: RepeatedUpload, actor: Actor) -> v1.NetEntry:
    """Remove a repeated upload. The file stays for the users who uploaded it first. Raises
    UnknownFile or NotYourFile."""
    net = await site.nets.rows.get(name)
    if net is None:
        raise UnknownFile(kind="net", name=name)
    if not (actor.approver or actor.name == again.user):
        raise NotYourFile(kind="net")
    await site.file_access.remove_repeat(again)
    return _nets_entry(net, again)


async def _note_net(
    site: Site, net: StoredNet, user: str, engine: str, action: Action = Action.UPLOAD_NN
) -> None:
    """Write a line into the log of actions. For a net of a private engine only its team sees it."""
    now, audit = site.clock.now(), site.accounts.audit
    await audit.write(about_net(net.name, user, now, engine, action))


def _nets_entry(net: StoredNet, again: RepeatedUpload | None = None) -> v1.NetEntry:
    return v1.NetEntry(
        name=net.name,
        size=net.size,
        user=again.user if again else net.user,
        created=again.at if again else net.created,
        downloads=0 if again else net.downloads,
    )


# Uploaded programs.


@described(
    Operation(
        "Upload a program",
        {201: v1.UploadedFile},
        raw_body=True,
        query={"name": v1.Name, "engine": v1.Name},
        bearer=True,
    )
)
@runs(Domain.THREAD, "pieces are written and digested in threads")
async def upload_binary(request: Request) -> Response:
    site = site_of(request)
    uploader = await require_uploader(request, site)
    pieces = read_pieces(request.receive)
    return json_answer(await keep_program(site, uploader, _name_given(request), pieces), 201)


async def keep_program(
    site: Site, uploader: Uploader, name: str, pieces: AsyncIterator[bytes]
) -> v1.UploadedFile:
    """Store an uploaded program, from a form or the API. Raises BadRequest or BodyTooLarge."""
    with translated_errors():
        async with site.upload_bodies.place(uploader.user):
            kept = await site.programs.upload(pieces, name, uploader.user, uploader.engine)
    if kept.user == uploader.user:
        await site.file_access.add(kept.sha256, uploader.engine)
    await note_repeat(site, uploader, kept.sha256, kept.size)
    return v1.UploadedFile(sha256=kept.sha256, size=kept.size)
