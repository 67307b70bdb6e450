"""What does not fit into a user's quota is refused in words, and leaves nothing behind."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from rookery.server.files.books import BookStore
from rookery.server.files.engine_files import NetStore, ProgramStore
from tests.people import OLGA
from tests.twins.sites import MemorySite
from tests.wire.apis import Api, open_api
from tests.wire.v1.test_uploads import files_below

pytestmark = pytest.mark.anyio

LIMIT = 10
OPENING = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n"


def limited(site: MemorySite) -> None:
    threads, clock, programs = site.threads, site.clock, site.programs
    site.programs = ProgramStore(programs.rows, programs.blobs, threads, clock, limit=LIMIT)
    site.books = BookStore(site.books.rows, site.books.blobs, threads, clock, limit=LIMIT)
    site.nets = NetStore(site.nets.rows, site.nets.blobs, threads, clock, limit=LIMIT)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with open_api(files=tmp_path, change=limited) as opened:
        yield opened


async def give(api: Api, method: str, path: str, content: bytes) -> httpx.Response:
    headers = dict(await api.headers(OLGA))
    return await api.visitor.request(method, path, content=content, headers=headers)


@pytest.mark.parametrize(
    ("method", "path", "content"),
    [
        ("POST", "/api/v1/binaries?name=engine", b"#!123456789"),
        ("POST", "/api/v1/nets?name=weights.bin", bytes(11)),
        ("PUT", "/api/v1/books/mine.epd", OPENING),
    ],
)
async def test_what_does_not_fit_is_refused_in_words(
    api: Api, tmp_path: Path, method: str, path: str, content: bytes
) -> None:
    answer = await give(api, method, path, content)
    assert answer.status_code == 413
    assert "MB for nets, programs and books" in answer.json()["error"]
    assert await files_below(tmp_path, api) == 0


async def test_what_fits_is_kept_until_the_quota_is_used_up(api: Api) -> None:
    for content, status in ((b"#!1234", 201), (b"#!1234", 201), (b"#!5678", 413), (b"#!56", 201)):
        answer = await give(api, "POST", "/api/v1/binaries?name=engine", content)
        assert answer.status_code == status
