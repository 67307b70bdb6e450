"""Opening books, nets and programs that people upload: list, upload and remove."""

from collections.abc import AsyncIterator

from rookery.core.books import OfficialBook
from rookery.core.model.events import Action, about_net
from rookery.core.model.run import NotYours
from rookery.core.protocol import v1
from rookery.server.app.site import Site
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.files.access import FileAccess, RepeatedUpload
from rookery.server.files.books import BookStore, StoredBook, find_visible_book, list_visible_books
from rookery.server.files.engine_files import NetStore, StoredNet
from rookery.server.files.store import NOT_YOUR_FILE, UnknownFile
from rookery.server.files.uploaders import Uploader, check_name, find_uploader, note_repeat
from rookery.server.http.endpoint import LOOP, THREAD, Endpoints
from rookery.server.http.faults import NotFound
from rookery.server.people.bearers import Caller, name_of_caller
from rookery.server.people.users import Scope

READ_ONCE = "awaits one query; what the package brings is read once, in a thread"
FILE_REMOVED = "its file is removed in a thread"

api = Endpoints("/api/v1")


# Users who may submit runs may upload books; a book's uploader may remove it.


@api("GET /books", LOOP, READ_ONCE)
async def list_books(books: BookStore, access: FileAccess, caller: Caller | None) -> v1.BookList:
    """All books that runs can be played from."""
    stored, others = await list_visible_books(books, access, name_of_caller(caller))
    listed = (*(_entry(books, each) for each in stored), *map(_elsewhere, others.values()))
    return v1.BookList(books=listed)


@api("GET /books/{name}", LOOP, READ_ONCE)
async def get_book(
    books: BookStore, access: FileAccess, caller: Caller | None, name: v1.BookName
) -> v1.BookEntry:
    """A book."""
    kept = await find_visible_book(books, access, name_of_caller(caller), name)
    if kept is not None:
        return _entry(books, kept)
    official = books.official.get(name)
    if official is None:
        raise NotFound("There is no such book.")
    return _elsewhere(official)


@api(
    "PUT /books/{name}",
    THREAD,
    "pieces are written, counted and looked at in threads",
    scope=Scope.SUBMIT,
)
async def put_book(
    site: Site,
    caller: Caller,
    name: v1.BookName,
    pieces: AsyncIterator[bytes],
    engine: v1.Name = "",
) -> v1.BookEntry:
    """Upload a book."""
    uploader = find_uploader(site, caller.user.name, engine)
    check_name(site, uploader, name)
    async with site.upload_bodies.place(uploader.user):
        kept = await site.books.upload(pieces, name, uploader.user, engine)
    if kept.user == uploader.user:
        await site.file_access.add(kept.name, engine)
    return _entry(site.books, kept)


@api("DELETE /books/{name}", THREAD, FILE_REMOVED, scope=Scope.SUBMIT)
async def remove_book(site: Site, caller: Caller, name: v1.BookName) -> v1.BookEntry:
    """Remove a book."""
    return _entry(site.books, await remove_given_book(site, name, caller.actor))


async def remove_given_book(site: Site, name: str, actor: Actor) -> StoredBook:
    """Remove an uploaded book. Raises UnknownFile, NotYours or RunFault."""
    if not site.file_access.may_see(actor.name, name):
        raise UnknownFile(kind="book", name=name)
    removed = await site.books.remove(name, actor, await site.fleet.views.active())
    await site.file_access.remove(name)
    return removed


def _entry(books: BookStore, book: StoredBook) -> v1.BookEntry:
    return v1.BookEntry(
        name=book.name,
        openings=book.openings,
        sri=book.sri,
        official=book.name in books.official,
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


# Nets: listed, uploaded by programs, and removed. Those of a private engine are visible to its team
# only.


@api("GET /nets", LOOP, "awaits one query")
async def list_nets(nets: NetStore, access: FileAccess, caller: Caller | None) -> v1.NetList:
    """All nets, newest first."""
    viewer = name_of_caller(caller)
    seen = [net for net in await nets.rows.list_all() if access.may_see(viewer, net.name)]
    shown = (_nets_entry(net, access.visible_repeat(viewer, net.name)) for net in seen)
    return v1.NetList(nets=tuple(shown))


@api(
    "POST /nets",
    THREAD,
    "pieces are digested, packed and written in threads",
    scope=Scope.SUBMIT,
    status=201,
)
async def upload_net(
    site: Site,
    caller: Caller,
    pieces: AsyncIterator[bytes],
    name: v1.Name = "",
    engine: v1.Name = "",
) -> v1.NetEntry:
    """Upload a net."""
    return await keep_net(site, find_uploader(site, caller.user.name, engine), name, pieces)


async def keep_net(
    site: Site, uploader: Uploader, file_name: str, pieces: AsyncIterator[bytes]
) -> v1.NetEntry:
    """Store an uploaded net, from a form or the API. Raises FileRefused or QuotaExceeded."""
    async with site.upload_bodies.place(uploader.user):
        net, is_new = await site.nets.upload(pieces, file_name, uploader.user, uploader.engine)
    if not is_new:
        return _nets_entry(net, await note_repeat(site, uploader, net.name, net.size))
    await site.file_access.add(net.name, uploader.engine)
    await _note_net(site, net, uploader.user, uploader.engine)
    return _nets_entry(net)


@api("DELETE /nets/{name}", THREAD, FILE_REMOVED, scope=(Scope.SUBMIT, Scope.APPROVE))
async def remove_net(site: Site, caller: Caller, name: v1.Name) -> v1.NetEntry:
    """Remove a net."""
    return await remove_given_net(site, name, caller.actor)


async def remove_given_net(site: Site, name: str, actor: Actor) -> v1.NetEntry:
    """Remove an uploaded net. Raises UnknownFile, NotYours or RunFault."""
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
    UnknownFile or NotYours."""
    net = await site.nets.rows.get(name)
    if net is None:
        raise UnknownFile(kind="net", name=name)
    if not (actor.approver or actor.name == again.user):
        raise NotYours(NOT_YOUR_FILE, kind="net")
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


@api(
    "POST /binaries",
    THREAD,
    "pieces are written and digested in threads",
    scope=Scope.SUBMIT,
    status=201,
)
async def upload_binary(
    site: Site,
    caller: Caller,
    pieces: AsyncIterator[bytes],
    name: v1.Name = "",
    engine: v1.Name = "",
) -> v1.UploadedFile:
    """Upload a program."""
    return await keep_program(site, find_uploader(site, caller.user.name, engine), name, pieces)


async def keep_program(
    site: Site, uploader: Uploader, name: str, pieces: AsyncIterator[bytes]
) -> v1.UploadedFile:
    """Store an uploaded program, from a form or the API. Raises FileRefused or QuotaExceeded."""
    async with site.upload_bodies.place(uploader.user):
        kept = await site.programs.upload(pieces, name, uploader.user, uploader.engine)
    if kept.user == uploader.user:
        await site.file_access.add(kept.sha256, uploader.engine)
    await note_repeat(site, uploader, kept.sha256, kept.size)
    return v1.UploadedFile(sha256=kept.sha256, size=kept.size)
