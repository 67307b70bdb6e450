"""The list of official books: read from its repository by a job, kept, and used at once."""

import json
from dataclasses import dataclass, field

import pytest

from rookery.server.settings import Settings
from rookery.server.sources.survey import SourcePlace
from tests.twins.sites import NobodyOutside
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

SRI = "m" * 64
BOOKS = {
    "New_book_v1.epd": {"total": 5000, "sri": f"sha384-{SRI}", "white": 1},
    "../evil.epd": {"total": 1, "sri": SRI},
    "No_hash.epd": {"total": 1, "sri": "short"},
}


@dataclass(slots=True)
class BooksRepository(NobodyOutside):
    text: str
    asked: list[str] = field(default_factory=list)

    def read_file(self, main: SourcePlace, path: str) -> str:
        assert (main.repository.rpartition("/")[2], path) == ("books", "books.json")
        self.asked.append(main.repository)
        return self.text


async def looked(api: Api, text: str) -> list[str]:
    api.site.official_books.surveyor = BooksRepository(text)
    await api.site.official_books.keep_current()
    listed = json.loads((await api.get("/api/v1/books")).content)["books"]
    return [book["name"] for book in listed if book["official"]]


async def test_a_new_official_book_is_known_with_its_hash() -> None:
    async with open_api() as api:
        assert await looked(api, json.dumps(BOOKS)) == ["New_book_v1.epd"]
        run = await api.submitted(book="New_book_v1.epd", book_sri=None)
        plan = (await api.fleet.views.known_run(run)).plan
        assert (plan.book_sri, plan.book_official) == (SRI, True)


async def test_no_list_is_read_where_the_operator_wants_none() -> None:
    named = Settings.read({"ROOKERY_BOOKS_REPOSITORY": "off"})
    async with open_api(books_repository=named.books_repository) as api:
        assert "New_book_v1.epd" not in await looked(api, json.dumps(BOOKS))


async def test_the_list_is_read_from_the_repository_of_the_settings() -> None:
    async with open_api(books_repository="https://git.example.org/our/books") as api:
        api.site.official_books.surveyor = repository = BooksRepository(json.dumps(BOOKS))
        await api.site.official_books.keep_current()
    assert repository.asked == ["https://git.example.org/our/books"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"a.epd": 1}'])
async def test_a_list_that_says_nothing_changes_nothing(text: str) -> None:
    async with open_api() as api:
        assert "UHO_Lichess_4852_v1.epd" in await looked(api, text)
