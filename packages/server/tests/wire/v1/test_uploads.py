"""Programs that people upload, and the runs that play them."""

import hashlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.people import BORIS, OLGA
from tests.submissions import body
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

PROGRAM = b"\x7fELF" + bytes(3_000_000)
HASH = hashlib.sha256(PROGRAM).hexdigest()


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[Api]:
    async with open_api(files=tmp_path) as opened:
        yield opened


async def upload(api: Api, content: bytes = PROGRAM, query: str = "?name=engine") -> int:
    headers = dict(await api.headers(OLGA))
    path = f"/api/v1/binaries{query}"
    return (await api.visitor.post(path, content=content, headers=headers)).status_code


async def files_below(folder: Path, api: Api) -> int:
    return await api.site.threads.io(lambda: sum(path.is_file() for path in folder.rglob("*")))


async def test_a_program_comes_back_byte_by_byte(api: Api) -> None:
    assert await upload(api) == 201
    answer = await api.get(f"/api/binary/{HASH}")
    assert (answer.status_code, answer.content) == (200, PROGRAM)
    assert answer.headers["etag"] == f'"{HASH}"'
    known = await api.visitor.get(f"/api/binary/{HASH}", headers={"if-none-match": f'"{HASH}"'})
    assert known.status_code == 304


async def test_equal_programs_are_kept_once(api: Api, tmp_path: Path) -> None:
    assert await upload(api) == await upload(api) == 201
    assert await files_below(tmp_path, api) == 1


async def test_an_empty_program_is_refused_and_leaves_nothing(api: Api, tmp_path: Path) -> None:
    assert await upload(api, b"") == 400
    assert await files_below(tmp_path, api) == 0


async def test_uploads_need_a_token(api: Api) -> None:
    assert (await api.visitor.post("/api/v1/binaries", content=PROGRAM)).status_code == 401


async def test_what_is_too_large_is_refused_and_leaves_nothing(api: Api, tmp_path: Path) -> None:
    async def without_end() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"#!" + bytes(1_000_000)

    headers = dict(await api.headers(OLGA))
    answer = await api.visitor.post("/api/v1/binaries", content=without_end(), headers=headers)
    assert answer.status_code == 413
    assert await files_below(tmp_path, api) == 0


@pytest.mark.parametrize("content", [b"# Readme\n", b"MZ\x90\x00 for Windows"])
async def test_what_no_machine_can_play_is_no_program(
    content: bytes, api: Api, tmp_path: Path
) -> None:
    headers = dict(await api.headers(OLGA))
    answer = await api.visitor.post("/api/v1/binaries", content=content, headers=headers)
    assert answer.status_code == 400
    assert "This file is not a program" in answer.json()["error"]
    assert await files_below(tmp_path, api) == 0


@pytest.mark.parametrize("name", ["x", "0" * 64, "A" * 64, "..%2F..%2Fetc"])
async def test_an_unknown_program_is_not_found(api: Api, name: str) -> None:
    assert (await api.get(f"/api/binary/{name}")).status_code == 404


async def test_a_run_plays_uploaded_programs(api: Api) -> None:
    await upload(api)
    gone = dict.fromkeys(("resolved_new", "new_signature", "tests_repo"))
    run_id = await api.submitted(BORIS, new_binary=HASH, **gone)
    run = await api.fleet.views.known_run(run_id)
    new, base = run.plan.sides
    assert (new.binary, new.commit, new.signature) == (HASH, HASH[:40], "")
    assert (new.engine, base.binary) == ("uploaded", "")


async def test_a_program_that_nobody_uploaded_is_named(api: Api) -> None:
    answer = await api.post("/api/v1/runs", BORIS, body(base_binary=HASH))
    assert answer.status_code == 400
    assert "base_binary: no program of this hash" in answer.text
