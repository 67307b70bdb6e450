"""Games and nets: sent as they are kept, whole or in part, never from nowhere."""

import gzip
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rookery.core.clock import SystemClock
from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.server.files.blobs import FolderBlobs, read_blob, write_blob
from rookery.server.files.engine_files import StoredNet
from rookery.server.files.games import GameUpload
from tests.people import OLGA
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

NET = bytes(range(256)) * 4000
NAME = f"nn-{hashlib.sha256(NET).hexdigest()[:12]}.nnue"
RUN = "64e74776a170cb1f26fa3930"


@dataclass
class Place:
    api: Api

    async def keep_net(self) -> StoredNet:
        headers = dict(await self.api.headers(OLGA))
        path = f"/api/v1/nets?name={NAME}"
        given = await self.api.visitor.post(path, content=NET, headers=headers)
        assert given.status_code == 201
        net = await self.api.site.nets.rows.get(NAME)
        assert net is not None
        return net

    async def keep_games(self, task: int, text: str) -> bytes:
        site, packed = self.api.site, gzip.compress(text.encode(), mtime=0)
        key = await site.threads.io(write_blob, site.games.blobs, packed)
        await site.games.rows.add(GameUpload(RUN, task, key, len(packed), site.clock.now()), ())
        return packed


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    async with open_api(files=tmp_path) as api:
        yield Place(api)


async def test_the_games_of_a_task_are_sent_packed(place: Place) -> None:
    packed = await place.keep_games(7, "1. e4 e5 *")
    async with place.api.visitor.stream("GET", f"/api/pgn/{RUN}-7.pgn") as answer:
        sent = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert sent == packed
    assert answer.headers["content-type"] == "application/gzip"
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-length"] == str(len(packed))
    assert answer.headers["content-disposition"] == f'attachment; filename="{RUN}-7.pgn"'


async def test_a_file_is_called_what_a_header_can_hold(place: Place) -> None:
    await place.keep_games(7, "1. e4 e5 *")
    answer = await place.api.get(f'/api/pgn/{RUN}-7.pgn"棋é;x')
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="{RUN}-7.pgnx"'


async def test_of_several_uploads_the_first_is_sent(place: Place) -> None:
    await place.keep_games(7, "first")
    await place.keep_games(7, "second")
    assert (await place.api.get(f"/api/pgn/{RUN}-7.pgn")).content == b"first"


async def test_all_games_of_a_run_are_one_gzip_stream(place: Place) -> None:
    second, first = await place.keep_games(2, "two "), await place.keep_games(1, "one ")
    answer = await place.api.get(f"/api/run_pgns/{RUN}.pgn.gz")
    assert answer.content == first + second
    assert gzip.decompress(answer.content) == b"one two "
    assert answer.headers["content-length"] == str(len(first + second))
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/api/pgn/{RUN}-7.pgn", 404),
        ("/api/pgn/odd.pgn", 400),
        (f"/api/run_pgns/{RUN}.pgn.gz", 404),
        (f"/api/run_pgns/{RUN}.pgn", 400),
        ("/api/nn/nn-000000000000.nnue", 404),
        ("/api/nn/nn-000000000000.exe", 400),
        ("/api/nn/..%2f..%2fetc%2fpasswd", 404),
    ],
)
async def test_what_is_not_there_is_not_sent(place: Place, path: str, status: int) -> None:
    assert (await place.api.get(path)).status_code == status


async def test_games_whose_time_is_up_are_not_there(place: Place) -> None:
    await place.keep_games(7, "gone")
    (row,) = await place.api.site.games.rows.of_task(RUN, 7)
    await place.api.site.threads.io(place.api.site.games.blobs.remove, row.blob)
    assert (await place.api.get(f"/api/pgn/{RUN}-7.pgn")).status_code == 404


async def test_a_net_comes_packed_to_those_who_take_it_so(place: Place) -> None:
    net = await place.keep_net()
    answer = await place.api.get(f"/api/nn/{NAME}")
    assert answer.content == NET
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.headers["content-length"] == str(net.size)
    assert "immutable" in answer.headers["cache-control"]


async def test_a_net_comes_unpacked_to_those_who_do_not(place: Place) -> None:
    await place.keep_net()
    answer = await place.api.visitor.get(f"/api/nn/{NAME}", headers={"accept-encoding": "identity"})
    assert answer.content == NET
    assert "content-encoding" not in answer.headers


@pytest.mark.parametrize(
    ("wanted", "part"),
    [("bytes=0-9", slice(0, 10)), ("bytes=100-", slice(100, None)), ("bytes=-5", slice(-5, None))],
)
async def test_a_part_of_a_net_can_be_had(place: Place, wanted: str, part: slice) -> None:
    net = await place.keep_net()
    packed = await place.api.site.threads.io(read_blob, place.api.site.nets.blobs, net.blob)
    headers = {"range": wanted}
    async with place.api.visitor.stream("GET", f"/api/nn/{NAME}", headers=headers) as answer:
        sent = b"".join([chunk async for chunk in answer.aiter_raw()])
    assert (answer.status_code, sent) == (206, packed[part])
    assert answer.headers["content-range"].endswith(f"/{net.size}")


async def test_who_has_the_net_is_told_so(place: Place) -> None:
    await place.keep_net()
    answer = await place.api.visitor.get(f"/api/nn/{NAME}", headers={"if-none-match": f'"{NAME}"'})
    assert (answer.status_code, answer.content) == (304, b"")


async def test_downloads_are_counted_in_bulk(place: Place) -> None:
    await place.keep_net()
    for _ in range(3):
        await place.api.get(f"/api/nn/{NAME}")
    await place.api.site.nets.write_downloads()
    (net,) = await place.api.site.nets.rows.list_all()
    assert net.downloads == 3


async def test_nets_may_lie_elsewhere(tmp_path: Path) -> None:
    async with open_api(files=tmp_path, nets_url="https://nets.example.org") as api:
        await Place(api).keep_net()
        answer = await api.get(f"/api/nn/{NAME}")
        assert (answer.status_code, answer.headers["location"]) == (
            302,
            f"https://nets.example.org/nn/{NAME}",
        )


class SigningBlobs(FolderBlobs):
    """A folder that can do what a bucket can."""

    def sign(self, key: str, seconds: int) -> str:
        return f"https://storage.example.org/{key}?seconds={seconds}"


async def test_who_may_have_a_net_is_led_to_a_signed_address_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    async with open_api(files=tmp_path, files_redirect=True) as api:
        net = await Place(api).keep_net()
        api.site.nets.blobs = SigningBlobs(tmp_path / "nets", SystemClock())
        answer = await api.get(f"/api/nn/{NAME}")
        assert answer.status_code == 302
        assert answer.headers["location"] == f"https://storage.example.org/{net.blob}?seconds=60"
        assert answer.headers["cache-control"] == "no-store"
        unpacked = await api.visitor.get(f"/api/nn/{NAME}", headers={"accept-encoding": "identity"})
        assert unpacked.content == NET
        lead, engine = Actor("olga"), EngineRecord(name="owls~Strix", team="owls", private=True)
        await api.site.teams.create("owls", lead)
        await api.site.engines.put(engine, lead)
        await api.site.file_access.add(NAME, engine.name)
        hidden = await api.visitor.get(f"/api/nn/{NAME}")
        assert (hidden.status_code, "location" in hidden.headers) == (404, False)


async def test_who_may_see_games_is_led_to_a_signed_address_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    async with open_api(files=tmp_path, files_redirect=True) as api:
        await Place(api).keep_games(7, "1. e4 e5 *")
        api.site.games.blobs = SigningBlobs(tmp_path / "games", SystemClock())
        answer = await api.visitor.get(f"/api/pgn/{RUN}-7.pgn")
        assert answer.status_code == 302
        assert answer.headers["location"].startswith("https://storage.example.org/")
        assert answer.headers["cache-control"] == "no-store"
        missing = await api.visitor.get(f"/api/pgn/{RUN}-8.pgn")
        assert (missing.status_code, "location" in missing.headers) == (404, False)
