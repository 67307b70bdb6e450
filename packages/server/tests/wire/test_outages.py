"""A database that is away is told as such, to programs and to people, and nothing else is."""

import errno
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rookery.server.identity.users import User
from tests.people import OLGA
from tests.twins.people import MemoryUsers
from tests.twins.sites import MemorySite, OpenSite, make_site, open_site
from tests.wire.apis import open_api

pytestmark = pytest.mark.anyio


class BrokenUsers(MemoryUsers):
    """A table that can't be reached."""

    async def by_name(self, name: str) -> User | None:
        raise ConnectionResetError("a secret of the inside")

    async def list_all(self) -> tuple[User, ...]:
        raise ConnectionResetError("a secret of the inside")


def is_away(error: BaseException) -> bool:
    return isinstance(error, ConnectionError)


@asynccontextmanager
async def without_users() -> AsyncIterator[OpenSite]:
    parts = make_site(users=BrokenUsers())
    parts.is_outage = is_away
    async with open_site(parts) as site:
        yield site


async def test_programs_are_told_to_try_again() -> None:
    def break_users(site: MemorySite) -> None:
        site.users, site.is_outage = BrokenUsers(), is_away

    async with open_api(change=break_users) as api:
        answer = await api.get("/api/v1/users", OLGA)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "database can't be reached" in answer.text
    assert "secret" not in answer.text


async def test_people_read_it_on_a_page() -> None:
    async with without_users() as site:
        page = await site.browser.get("/login")
        token = page.text.split('name="csrf_token" value="')[1].split('"')[0]
        form = {"username": "olga", "password": "wrong", "csrf_token": token}
        answer = await site.browser.post("/login", data=form)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "The database can&#39;t be reached" in answer.text
    assert "database_away" in site.log.events()


async def test_workers_are_given_no_json() -> None:
    async with without_users() as site:
        call = {"password": "x", "worker_info": {"username": "olga"}}
        answer = await site.browser.post("/api/request_version", json=call)
    assert answer.status_code == 503
    assert answer.headers["content-type"].startswith("text/plain")


class FullUsers(MemoryUsers):
    """A table on a disk without room."""

    async def by_name(self, name: str) -> User | None:
        raise OSError(errno.ENOSPC, "a secret of the inside")

    async def list_all(self) -> tuple[User, ...]:
        raise OSError(errno.ENOSPC, "a secret of the inside")


async def test_a_full_disk_is_told_to_programs_as_what_it_is() -> None:
    def fill_disk(site: MemorySite) -> None:
        site.users = FullUsers()

    async with open_api(change=fill_disk) as api:
        answer = await api.get("/api/v1/users", OLGA)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert "disk is full" in answer.text
    assert "secret" not in answer.text


async def test_a_full_disk_is_told_to_people_on_the_page_and_on_all_others() -> None:
    async with open_site(make_site(users=FullUsers())) as site:
        page = await site.browser.get("/login")
        token = page.text.split('name="csrf_token" value="')[1].split('"')[0]
        form = {"username": "olga", "password": "wrong", "csrf_token": token}
        answer = await site.browser.post("/login", data=form)
        assert (answer.status_code, "The disk is full" in answer.text) == (503, True)
        assert "disk full" in (await site.browser.get("/login")).text
        assert (await site.browser.get("/readyz")).json()["reason"].startswith("disk full")


async def test_a_full_disk_gives_workers_no_json() -> None:
    async with open_site(make_site(users=FullUsers())) as site:
        body = {"password": "x", "worker_info": {"username": "olga"}}
        answer = await site.browser.post("/api/request_version", json=body)
    assert answer.status_code == 503
    assert answer.text.startswith("The server's disk is full")


async def test_the_only_process_says_that_it_lost_the_database_and_not_its_rank() -> None:
    """It is not primary when it could not renew its lease."""
    async with open_site() as site:
        site.parts.rules.primary = False
        call = {"password": "x", "worker_info": {"username": "olga"}}
        answer = await site.browser.post("/api/request_version", json=call)
    assert (answer.status_code, "The database can't be reached" in answer.text) == (503, True)
    assert answer.headers["content-type"].startswith("text/plain")
