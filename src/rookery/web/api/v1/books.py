"""Opening books: listed, looked at, given and removed."""

from collections.abc import Iterable, Iterator

from starlette.requests import Request
from starlette.responses import Response

from rookery.books import OfficialBook, official_books
from rookery.boundary.domains import Domain, runs
from rookery.protocol import v1
from rookery.service.sources.book_reading import BookRefused
from rookery.service.sources.books import Book, UnknownBook
from rookery.service.tokens import Scope
from rookery.web.api.desk import ApiDesk, refusals
from rookery.web.api.v1.callers import bearer_of, viewer_of
from rookery.web.api.v1.givers import check_name, giver_of
from rookery.web.bodies import json_answer, pieces
from rookery.web.faults import BadRequest, NotFound
from rookery.web.openapi import Operation, described

BY_NAME = {"name": v1.BookName}


class BookEndpoints:
    """Whoever may submit runs may give books; who gave one may remove it."""

    def __init__(self, desk: ApiDesk) -> None:
        self._desk = desk

    @described(Operation("All books that runs can be played from", {200: v1.BookList}))
    @runs(Domain.LOOP, "awaits one query")
    async def listing(self, request: Request) -> Response:
        desk = self._desk
        viewer = await viewer_of(request, desk.bearers)
        kept = await desk.sources.books.everything()
        seen = [book for book in kept if desk.holdings.sees(viewer, book.name)]
        return json_answer(v1.BookList(books=tuple(_listed(seen))))

    @described(Operation("What is known of a book", {200: v1.BookEntry}, path=BY_NAME))
    @runs(Domain.LOOP, "awaits one query")
    async def one(self, request: Request) -> Response:
        desk, name = self._desk, _name(request)
        viewer = await viewer_of(request, desk.bearers)
        kept = await desk.sources.books.by_name(name)
        if kept is not None and desk.holdings.sees(viewer, name):
            return json_answer(_entry(kept))
        official = official_books().get(name)
        if official is None:
            raise NotFound("There is no such book.")
        return json_answer(_elsewhere(official))

    @described(
        Operation(
            "Give a book",
            {200: v1.BookEntry},
            path=BY_NAME,
            query={"engine": v1.Name},
            raw_body=True,
            bearer=True,
        )
    )
    @runs(Domain.THREAD, "pieces are written, counted and looked at in threads")
    async def put(self, request: Request) -> Response:
        desk = self._desk
        giver = await giver_of(request, desk)
        check_name(desk, giver, _name(request))
        body = pieces(request.receive)
        with refusals():
            try:
                async with desk.large_bodies.place(giver.user):
                    kept = await desk.sources.books.take(body, _name(request), giver.user)
            except BookRefused as refused:
                raise BadRequest(str(refused)) from None
        if kept.user == giver.user:
            await desk.holdings.add(kept.name, giver.engine)
        return json_answer(_entry(kept))

    @described(Operation("Remove a book", {200: v1.BookEntry}, path=BY_NAME, bearer=True))
    @runs(Domain.THREAD, "its file is removed in a thread")
    async def remove(self, request: Request) -> Response:
        desk = self._desk
        bearer = await bearer_of(request, desk.bearers, Scope.SUBMIT)
        name = _name(request)
        with refusals():
            if not desk.holdings.sees(bearer.user.name, name):
                raise UnknownBook(name=name)
            removed = await desk.sources.books.remove(name, bearer.actor)
        await desk.holdings.forget(name)
        return json_answer(_entry(removed))


def _name(request: Request) -> str:
    return str(request.path_params["name"])


def _listed(kept: Iterable[Book]) -> Iterator[v1.BookEntry]:
    """Those that are kept come first."""
    found = {book.name: book for book in kept}
    yield from map(_entry, found.values())
    yield from (
        _elsewhere(book) for name, book in sorted(official_books().items()) if name not in found
    )


def _entry(book: Book) -> v1.BookEntry:
    return v1.BookEntry(
        name=book.name,
        openings=book.openings,
        sri=book.sri,
        official=book.name in official_books(),
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
