"""Nets and books by pages."""

from pathlib import Path

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from tests.people import BORIS, OLGA
from tests.wire.apis import Api, open_api
from tests.wire.test_authorisation import OPENING
from tests.wire.test_login import token_in
from tests.wire.test_machines_pages import enter

pytestmark = pytest.mark.anyio

SECRET = EngineRecord(name="owls~Strix", team="owls", private=True)


async def give_net(api: Api, content: bytes, engine: str = "") -> str:
    answer = await api.visitor.post(
        f"/api/v1/nets?name=x.nnue&engine={engine}",
        content=content,
        headers=dict(await api.headers(OLGA)),
    )
    assert answer.status_code == 201, answer.text
    return str(answer.json()["name"])


async def test_nets_are_listed_and_searched_without_those_of_a_private_engine() -> None:
    async with open_api() as api:
        await api.site.teams.create("owls", Actor("olga"))
        await api.site.engines.put(SECRET, Actor("olga"))
        shown, hidden = await give_net(api, b"one"), await give_net(api, b"two", SECRET.name)
        page = (await api.visitor.get("/nets?text=olga")).text
        assert shown in page
        assert hidden not in page
        assert "No matching nets" in (await api.visitor.get("/nets?text=100%25")).text


async def test_the_address_of_fishtest_finds_a_net_by_its_name_and_giver() -> None:
    async with open_api() as api:
        name = await give_net(api, b"one")
        found = await api.visitor.get(f"/nns?network_name={name[:9]}&user=olga")
        assert name in (await api.visitor.get(found.headers["location"])).text
        found = await api.visitor.get(f"/nns?network_name={name[:9]}&user=boris")
        assert "No matching nets" in (await api.visitor.get(found.headers["location"])).text


async def test_a_search_kept_from_before_finds_what_it_found() -> None:
    async with open_api() as api:
        name = await give_net(api, b"one")
        assert name in (await api.visitor.get(f"/nets?q={name[:9]}")).text
        assert "No matching nets" in (await api.visitor.get("/nets?q=another")).text


async def test_who_gave_a_net_in_secret_is_not_told_to_who_gave_it_again() -> None:
    async with open_api() as api:
        await api.site.teams.create("owls", Actor("olga"))
        await api.site.engines.put(SECRET, Actor("olga"))
        name = await give_net(api, b"two", SECRET.name)
        again = await api.visitor.post(
            "/api/v1/nets?name=x.nnue", content=b"two", headers=dict(await api.headers(BORIS))
        )
        assert again.status_code == 201
        await enter(api, BORIS)
        assert name in (await api.visitor.get(f"/nets?text={name[:9]}")).text
        assert "olga" not in (await api.visitor.get(f"/nets?text={name[:9]}")).text
        assert name not in (await api.visitor.get("/nets?text=olga")).text


async def test_whoever_gave_a_net_removes_it() -> None:
    async with open_api() as api:
        name = await give_net(api, b"one")
        await enter(api, OLGA)
        token = token_in(await api.visitor.get("/nets"))
        await api.visitor.post(f"/nets/{name}/remove", data={"csrf_token": token})
        assert await api.site.nets.rows.get(name) is None


async def test_a_book_is_given_by_a_form_shown_and_removed(tmp_path: Path) -> None:
    async with open_api(files=tmp_path) as api:
        await enter(api, OLGA)
        token = token_in(await api.visitor.get("/books"))
        answer = await api.visitor.post(
            "/books", data={"csrf_token": token}, files={"book": ("mine.epd", OPENING)}
        )
        assert answer.headers["location"] == "/books/mine.epd"
        assert "PPPPPPPP" in (await api.visitor.get("/books/mine.epd")).text
        await api.visitor.post("/books/mine.epd/remove", data={"csrf_token": token})
        assert (await api.visitor.get("/books/mine.epd")).status_code == 404


async def test_a_bad_book_is_refused_beside_its_form() -> None:
    async with open_api() as api:
        await enter(api, OLGA)
        token = token_in(await api.visitor.get("/books"))
        answer = await api.visitor.post(
            "/books", data={"csrf_token": token}, files={"book": ("mine.epd", b"no position\n")}
        )
        assert answer.status_code == 422
        assert "is not a position" in answer.text
