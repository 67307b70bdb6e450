"""Books of one's own: given, listed, played from, fetched and removed."""

from collections.abc import AsyncIterator
from pathlib import Path

import chess
import httpx
import pytest

from rookery.core import books
from rookery.server.disk import StorageAway
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import SPRT, body
from tests.twins.files import MemoryBlobs, MemoryDraft
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

PATH = "/api/v1/books/mine.epd"
TEXT = f"{chess.STARTING_FEN}\n".encode() * 100


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with open_api(files=tmp_path) as opened:
        yield opened


async def put(api: Api, content: bytes = TEXT, path: str = PATH) -> httpx.Response:
    return await api.visitor.put(path, content=content, headers=dict(await api.headers(OLGA)))


async def remove(api: Api, headers: dict[str, str], path: str = PATH) -> int:
    return (await api.visitor.delete(path, headers=headers)).status_code


async def test_a_book_comes_back_as_it_was_given(api: Api) -> None:
    given = await put(api)
    assert (given.status_code, given.json()["openings"]) == (200, 100)
    fetched = await api.get("/api/book/mine.epd")
    assert fetched.content == TEXT
    assert fetched.headers["etag"] == f'"{given.json()["sha256"]}"'
    assert (await api.get(PATH)).json() == given.json()


async def test_a_name_means_one_text_until_it_is_removed(api: Api) -> None:
    assert (await put(api)).status_code == (await put(api)).status_code == 200
    assert (await put(api, TEXT + TEXT)).status_code == 409
    assert await remove(api, dict(await api.headers(SVEN))) == 403
    assert await remove(api, dict(await api.headers(OLGA))) == 200
    assert (await api.get("/api/book/mine.epd")).status_code == 404
    assert (await put(api, TEXT + TEXT)).status_code == 200


async def test_a_book_that_a_run_needs_stays(api: Api) -> None:
    await put(api)
    await api.submitted(BORIS, book="mine.epd", book_sri=None)
    assert await remove(api, dict(await api.headers(OLGA))) == 409


async def test_what_is_no_book_leaves_nothing(api: Api, tmp_path: Path) -> None:
    refused = await put(api, b"nonsense\n")
    assert refused.status_code == 400
    assert "Opening 1 is not a position" in refused.text
    assert (await api.get(PATH)).status_code == 404
    kept = await api.site.threads.io(lambda: [p for p in tmp_path.rglob("*") if p.is_file()])
    assert kept == []


@pytest.mark.parametrize("name", ["mine.txt", ".epd", "a%20b.epd", books.DEMO])
async def test_names_are_file_names_of_books(api: Api, name: str) -> None:
    assert (await put(api, path=f"/api/v1/books/{name}")).status_code in (400, 409)


async def test_the_book_of_the_package_and_official_ones_are_listed(api: Api) -> None:
    found = {book["name"]: book for book in (await api.get("/api/v1/books")).json()["books"]}
    assert found[books.DEMO]["kept"]
    assert not found["UHO_Lichess_4852_v1.epd"]["kept"]
    fetched = await api.get(f"/api/book/{books.DEMO}")
    assert fetched.text.count("\n") == found[books.DEMO]["openings"]
    assert (await api.get("/api/book/UHO_Lichess_4852_v1.epd")).status_code == 404


async def test_a_run_from_a_book_of_ones_own_knows_its_hash(api: Api) -> None:
    given = (await put(api)).json()
    run_id = await api.submitted(BORIS, book="mine.epd", book_sri=None)
    run = await api.fleet.views.known_run(run_id)
    assert (run.plan.book_sri, run.plan.book_official) == (given["sri"], False)
    other = await api.post("/api/v1/runs", BORIS, body(book="mine.epd"))
    assert "book_sri: the book that is kept here" in other.text


async def test_an_official_books_hash_is_filled_in(api: Api) -> None:
    name = "UHO_Lichess_4852_v1.epd"
    run_id = await api.submitted(BORIS, book=name, book_sri=None)
    plan = (await api.fleet.views.known_run(run_id)).plan
    assert (plan.book_sri, plan.book_official) == (books.official_books()[name].sri, True)


async def test_a_run_that_needs_most_of_a_book_is_warned_about(api: Api) -> None:
    await put(api)
    for games, warned in ((100, False), (180, True)):
        wish = body(book="mine.epd", book_sri=None, num_games=games)
        said = (await api.post("/api/v1/runs", BORIS, wish)).json()["warnings"]
        assert any("openings are needed" in warning for warning in said) is warned
    wish = body(book="mine.epd", book_sri=None, sprt=SPRT, num_games=None)
    said = (await api.post("/api/v1/runs", BORIS, wish)).json()["warnings"]
    assert any("mine.epd has 100" in warning for warning in said)


class AwayBlobs(MemoryBlobs):
    """Storage that does not answer."""

    def draft(self, key: str = "") -> MemoryDraft:
        raise StorageAway(key)

    def has(self, key: str) -> bool:
        raise StorageAway(key)


async def test_while_the_storage_is_away_people_are_told_to_come_again(api: Api) -> None:
    await put(api)
    api.site.books.blobs = AwayBlobs()
    given, fetched = (
        await put(api, path="/api/v1/books/other.epd"),
        await api.get("/api/book/mine.epd"),
    )
    for answer in (given, fetched):
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "15")
    assert "storage of files" in given.json()["error"]
    listed = (await api.get("/api/v1/books")).json()["books"]
    assert "mine.epd" in {book["name"] for book in listed}
