"""Files that belong to a private engine, given again by somebody who must not learn of it."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from rookery.server.identity.users import User
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import body
from tests.wire.apis import Api, Json, open_api

pytestmark = pytest.mark.anyio

SECRET, OTHER = b"\x7fELF what the owls play with", b"\x7fELF what nobody has seen before"
OPENING = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id one;\n"
STRIX: Json = {"name": "owls~Strix", "team": "owls", "private": True}


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    """Olga's team has a net, a program and a book for its private engine."""
    async with open_api(files=tmp_path / "files") as opened:
        await opened.post("/api/v1/teams", OLGA, {"name": "owls"})
        headers = dict(await opened.headers(OLGA))
        await opened.visitor.put("/api/v1/engines/owls~Strix", json=STRIX, headers=headers)
        for kind in ("nets", "binaries"):
            given = await give(opened, OLGA, kind, SECRET, "owls~Strix")
            assert given.status_code == 201, given.text
        yield opened


def net(content: bytes) -> str:
    return f"nn-{hashlib.sha256(content).hexdigest()[:12]}.nnue"


async def give(api: Api, user: User, kind: str, content: bytes, engine: str = "") -> httpx.Response:
    query = {"name": net(content), "engine": engine}
    headers = dict(await api.headers(user))
    return await api.visitor.post(f"/api/v1/{kind}", params=query, content=content, headers=headers)


async def test_a_net_that_is_there_in_secret_is_taken_as_a_new_one(api: Api) -> None:
    api.clock.move(days=1)
    entries = [(await give(api, SVEN, "nets", content)).json() for content in (SECRET, OTHER)]
    told = [(entry["user"], entry["created"], entry["downloads"]) for entry in entries]
    assert told[0] == told[1]
    for viewer in (SVEN, BORIS, None):
        listed = (await api.get("/api/v1/nets", viewer)).json()["nets"]
        assert sorted(entry["user"] for entry in listed) == ["sven", "sven"]
        for content in (SECRET, OTHER):
            assert (await api.get(f"/api/nn/{net(content)}", viewer)).status_code == 200
    theirs = (await api.get("/api/v1/nets", OLGA)).json()["nets"]
    assert sorted(entry["user"] for entry in theirs) == ["olga", "sven"]


async def test_what_was_given_again_is_taken_back_alone(api: Api) -> None:
    for content in (SECRET, OTHER):
        await give(api, SVEN, "nets", content)
        headers = dict(await api.headers(SVEN))
        gone = await api.visitor.delete(f"/api/v1/nets/{net(content)}", headers=headers)
        assert (gone.status_code, gone.json()["user"]) == (200, "sven")
        assert (await api.get(f"/api/nn/{net(content)}", SVEN)).status_code == 404
    assert (await api.get(f"/api/nn/{net(SECRET)}", OLGA)).status_code == 200


async def test_a_program_that_is_there_in_secret_is_taken_as_a_new_one(api: Api) -> None:
    for content in (SECRET, OTHER):
        sha256 = (await give(api, SVEN, "binaries", content)).json()["sha256"]
        assert (await api.get(f"/api/binary/{sha256}", SVEN)).status_code == 200
        wish = body(new_binary=sha256, base_binary=sha256)
        made = await api.post("/api/v1/runs/preview", SVEN, wish)
        assert made.status_code == 200, made.text


async def test_books_of_a_team_are_refused_to_others_whether_they_are_there_or_not(
    api: Api,
) -> None:
    async def put(user: User, name: str, engine: str = "") -> httpx.Response:
        headers = dict(await api.headers(user))
        return await api.visitor.put(
            f"/api/v1/books/{name}", params={"engine": engine}, content=OPENING, headers=headers
        )

    named = await put(OLGA, "x.epd", "owls~Strix")
    assert (named.status_code, "owls~x.epd" in named.text) == (400, True)
    assert (await put(OLGA, "owls~x.epd", "owls~Strix")).status_code == 200
    for user in (SVEN, BORIS):
        answers = [await put(user, name) for name in ("owls~x.epd", "owls~y.epd", "cats~x.epd")]
        assert {answer.status_code for answer in answers} == {403}
        assert len({answer.json()["error"].partition(": ")[2] for answer in answers}) == 1
