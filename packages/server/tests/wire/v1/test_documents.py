"""Documents for questions: uploaded, read by a job, found by those who may see them."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from rookery.server.ask.uploads import MOST_WAITING
from rookery.server.identity.users import User
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, Json, open_api

pytestmark = pytest.mark.anyio

WORDS = b"# Notes\n\nRazoring with a larger margin fails at long time control."


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with open_api(files=tmp_path) as opened:
        yield opened


async def give(
    api: Api, content: bytes = WORDS, user: User = OLGA, name: str = "notes.md", **query: str
) -> httpx.Response:
    headers = dict(await api.headers(user))
    params = {"name": name, **query}
    return await api.visitor.post("/documents", params=params, content=content, headers=headers)


async def call(
    api: Api, method: str, path: str, user: User = OLGA, body: Json | None = None
) -> httpx.Response:
    headers = dict(await api.headers(user))
    return await api.visitor.request(method, path, json=body, headers=headers)


async def listed(api: Api, user: User) -> list[str]:
    found = (await call(api, "GET", "/api/v1/ask/documents", user)).json()
    return [each["name"] for each in found["documents"]]


async def test_an_upload_waits_until_it_was_read(api: Api) -> None:
    given = await give(api)
    assert given.status_code == 201
    assert (given.json()["status"], given.json()["format"]) == ("waiting", "markdown")
    place = f"/documents/{given.json()['id']}"
    await api.site.documents.read_waiting()
    assert (await call(api, "GET", place)).json()["status"] == "read"
    assert (await call(api, "GET", f"{place}/text")).content == WORDS


async def test_the_same_bytes_are_one_document_of_a_user(api: Api) -> None:
    first, again = await give(api), await give(api, name="again.md")
    assert (again.status_code, again.json()) == (200, first.json())
    assert (await give(api, user=SVEN)).status_code == 201


async def test_a_document_is_its_uploaders_until_it_is_shared(api: Api) -> None:
    place = f"/documents/{(await give(api)).json()['id']}"
    assert await listed(api, OLGA) == ["notes.md"]
    assert await listed(api, BORIS) == []
    assert (await call(api, "GET", place, BORIS)).status_code == 404
    assert (await call(api, "PATCH", place, OLGA, {"shared": True})).json()["shared"] is True
    assert await listed(api, BORIS) == ["notes.md"]
    assert (await call(api, "PATCH", place, SVEN, {"shared": False})).status_code == 404
    assert (await call(api, "DELETE", place, SVEN)).status_code == 404
    assert (await call(api, "DELETE", place, BORIS)).status_code == 200


async def test_a_removed_document_leaves_nothing_behind(api: Api, tmp_path: Path) -> None:
    place = f"/documents/{(await give(api)).json()['id']}"
    assert (await call(api, "DELETE", place)).status_code == 200
    assert (await call(api, "GET", place)).status_code == 404
    files = await api.site.threads.io(lambda: [p for p in tmp_path.rglob("*") if p.is_file()])
    assert files == []


@pytest.mark.parametrize("content", [b"", b"\x7fELF\0\0", b"\xff" * 100])
async def test_what_is_no_document_is_refused(api: Api, content: bytes) -> None:
    refused = await give(api, content)
    assert refused.status_code == 400
    assert await listed(api, OLGA) == []


async def test_a_pdf_that_cannot_be_read_tells_why(api: Api) -> None:
    given = await give(api, b"%PDF-1.7 and nothing else", name="paper.pdf")
    await api.site.documents.read_waiting()
    found = (await call(api, "GET", f"/documents/{given.json()['id']}")).json()
    assert (found["status"], found["problem"]) == ("refused", "This PDF can't be read.")


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb"])
async def test_a_document_needs_a_name(api: Api, name: str) -> None:
    assert (await give(api, name=name)).status_code == 400


async def test_documents_count_towards_the_quota(tmp_path: Path) -> None:
    async with open_api(files=tmp_path, upload_quota_mb=1) as api:
        assert (await give(api, b"a" * 600_000)).status_code == 201
        assert (await give(api, b"b" * 600_000)).status_code == 413


async def test_a_user_may_have_only_so_many_documents_waiting(api: Api) -> None:
    for number in range(MOST_WAITING):
        assert (await give(api, b"%d" % number)).status_code == 201
    refused = await give(api, b"one more")
    assert refused.status_code == 400
    assert "wait to be read" in refused.text
    assert (await give(api, user=SVEN)).status_code == 201
    await api.site.documents.read_waiting()
    assert (await give(api, b"one more")).status_code == 201
