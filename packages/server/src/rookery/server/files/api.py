"""Opening books, nets and programs that people upload: list, upload and remove."""

from collections.abc import AsyncIterator

from rookery.core.books import OfficialBook
from rookery.core.protocol import v1
from rookery.server.files.access import FileAccess
from rookery.server.files.books import BookStore, StoredBook, find_visible_book, list_visible_books
from rookery.server.files.engine_files import NetStore
from rookery.server.files.uploaders import GivenFiles, describe_net
from rookery.server.http.endpoint import LOOP, THREAD, Endpoints
from rookery.server.http.faults import NotFound
from rookery.server.identity.bearers import Caller, name_of_caller
from rookery.server.identity.users import Scope

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
    """Return a book."""
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
    given: GivenFiles,
    caller: Caller,
    name: v1.BookName,
    pieces: AsyncIterator[bytes],
    engine: v1.Name = "",
) -> v1.BookEntry:
    """Upload a book."""
    uploader = given.find_uploader(caller.user.name, engine)
    return _entry(given.books, await given.keep_book(uploader, name, pieces))


@api("DELETE /books/{name}", THREAD, FILE_REMOVED, scope=Scope.SUBMIT)
async def remove_book(given: GivenFiles, caller: Caller, name: v1.BookName) -> v1.BookEntry:
    """Remove a book."""
    return _entry(given.books, await given.remove_book(name, caller.actor))


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
    shown = (describe_net(net, access.visible_repeat(viewer, net.name)) for net in seen)
    return v1.NetList(nets=tuple(shown))


@api(
    "POST /nets",
    THREAD,
    "pieces are digested, packed and written in threads",
    scope=Scope.SUBMIT,
    status=201,
)
async def upload_net(
    given: GivenFiles,
    caller: Caller,
    pieces: AsyncIterator[bytes],
    name: v1.Name = "",
    engine: v1.Name = "",
) -> v1.NetEntry:
    """Upload a net."""
    return await given.keep_net(given.find_uploader(caller.user.name, engine), name, pieces)


@api("DELETE /nets/{name}", THREAD, FILE_REMOVED, scope=(Scope.SUBMIT, Scope.APPROVE))
async def remove_net(given: GivenFiles, caller: Caller, name: v1.Name) -> v1.NetEntry:
    """Remove a net."""
    return await given.remove_net(name, caller.actor)


# Uploaded programs.


@api(
    "POST /binaries",
    THREAD,
    "pieces are written and digested in threads",
    scope=Scope.SUBMIT,
    status=201,
)
async def upload_binary(
    given: GivenFiles,
    caller: Caller,
    pieces: AsyncIterator[bytes],
    name: v1.Name = "",
    engine: v1.Name = "",
) -> v1.UploadedFile:
    """Upload a program."""
    return await given.keep_program(given.find_uploader(caller.user.name, engine), name, pieces)
