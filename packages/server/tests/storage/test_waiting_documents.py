"""Documents that wait to be read take turns by user: one contract, held by PostgreSQL and by its
twin in memory alike."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest

from rookery.server.ask.uploads import StoredUpload, UploadRows
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from tests.database import pool_on
from tests.twins.corpus import MemoryUploads

pytestmark = pytest.mark.anyio

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture(params=["memory", "postgres"])
async def uploads(
    request: pytest.FixtureRequest, database: Target, queries: Queries
) -> AsyncIterator[UploadRows]:
    if request.param == "memory":
        yield MemoryUploads()
        return
    async with pool_on(database) as pool:
        await pool.execute("TRUNCATE ask_uploads")
        yield UploadRows(pool, queries)


def make_upload(number: int, user: str, form: str = "text") -> StoredUpload:
    name, sha = f"{number:032x}", f"{number:064x}"
    created = BEGIN + timedelta(seconds=number)
    return StoredUpload(name, f"blob-{number}", 5, user, sha, "x", form, False, created)


async def read_all(uploads: UploadRows) -> list[str]:
    """Read everything in the order in which the job does; gives the users' turns."""
    turns = []
    while following := await uploads.list_next():
        for upload in following:
            turns.append(upload.user)
            await uploads.settle(upload, "text")
    return turns


async def test_one_users_many_documents_hold_up_nobody_elses(uploads: UploadRows) -> None:
    for number in range(3):
        await uploads.add(make_upload(number, "mallory"))
    await uploads.add(make_upload(3, "olga"))
    assert await read_all(uploads) == ["mallory", "olga", "mallory", "mallory"]


async def test_texts_are_read_before_pdfs(uploads: UploadRows) -> None:
    await uploads.add(make_upload(0, "mallory", "pdf"))
    await uploads.add(make_upload(1, "olga", "text"))
    assert [each.user for each in await uploads.list_next()] == ["olga", "mallory"]


async def test_what_was_read_waits_no_longer(uploads: UploadRows) -> None:
    for number in range(2):
        await uploads.add(make_upload(number, "olga"))
    (first,) = await uploads.list_next()
    await uploads.settle(first, "text")
    assert await uploads.count_waiting("olga") == 1
    assert await uploads.count_waiting("boris") == 0
