"""Applications of well-known frameworks, asked over real sockets with well-known clients."""

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path

import aiohttp
import httpx
import pytest
import requests
import socketio
import websockets
from websockets.exceptions import ConnectionClosedError, InvalidStatus

from tests.machine import play
from tests.serving import Served, eventually, serve

FRAMEWORKS = ("starlette", "fastapi", "django", "quart", "litestar", "channels")
TICKS = "".join(f"tick {i}\n" for i in range(5))


@pytest.fixture(params=["c", "mongoose"])
def core(request: pytest.FixtureRequest) -> str:
    """Every story is told on both."""
    return str(request.param)


@contextlib.contextmanager
def framework(core: str, name: str) -> Iterator[tuple[Served, httpx.Client]]:
    with serve(f"tests.frameworks.{name}_app:app", "--core", core) as served:
        with httpx.Client(base_url=served.url, timeout=60) as client:
            yield served, client
        assert served.stop() == 0, served.log


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_is_served(core: str, name: str) -> None:
    with framework(core, name) as (served, client):
        for _ in range(3):
            assert client.get("/").text == "hello"
        body = bytes(range(256)) * 1000
        assert client.post("/echo", content=body).content == body
        chunked = client.post("/echo", content=iter([b"a", b"b" * 70000]))
        assert chunked.content == b"a" + b"b" * 70000
        assert client.get("/stream").text == TICKS
        assert client.get("/none").status_code == 404
        assert client.head("/").content == b""
        assert "Traceback" not in served.log


@pytest.mark.parametrize("name", ["starlette", "fastapi", "quart", "litestar", "channels"])
def test_a_framework_speaks_websocket(core: str, name: str) -> None:
    async def story(url: str) -> None:
        async with websockets.connect(url) as socket:
            for text in ("hi", "é" * 50_000):
                await socket.send(text)
                assert await socket.recv() == text

    with framework(core, name) as (served, _):
        play(lambda: story(f"ws://127.0.0.1:{served.port}/ws"))


def test_a_file_of_starlettes_is_the_file(core: str) -> None:
    text = Path(__file__).with_name("frameworks").joinpath("starlette_app.py").read_text()
    with framework(core, "starlette") as (served, client):
        assert client.get("/file").text == text
        assert client.get("/file", headers={"Range": "bytes=3-9"}).text == text[3:10]
        assert client.get("/").text == "hello"
        assert "Traceback" not in served.log


def test_starlette_in_depth(core: str) -> None:
    with framework(core, "starlette") as (served, client):
        assert client.post("/form", data={"a": "1"}).json() == {"a": "1"}
        assert client.post("/form", files={"f": b"data"}).status_code == 200
        assert client.get("/background").text == ""
        assert eventually(lambda: client.get("/background").text.startswith("ran"))
        answer = client.get("/deep/state").json()
        assert answer == {"greeting": "good morning", "url": f"{served.url}/deep/state"}
        cookies = client.get("/cookies")
        assert cookies.headers["content-encoding"] == "gzip"
        assert len(cookies.headers.get_list("set-cookie")) == 2
        assert client.get("/fails").status_code == 500
        assert eventually(lambda: "LookupError: on purpose" in served.log)

    async def protocols(url: str) -> None:
        async with websockets.connect(url, subprotocols=["chat"]) as socket:  # type: ignore[list-item] # a NewType
            assert socket.subprotocol == "chat"

    with framework(core, "starlette") as (served, _):
        play(lambda: protocols(f"ws://127.0.0.1:{served.port}/ws"))


def test_starlette_denies_a_websocket_with_a_response() -> None:
    """On the core alone: over cymongoose the client has been answered before (docs/adapter.md)."""

    async def denied(url: str) -> None:
        with pytest.raises(InvalidStatus) as caught:
            await websockets.connect(url)
        assert caught.value.response.status_code == 401
        assert caught.value.response.body == b"members only"

    with framework("c", "starlette") as (served, _):
        play(lambda: denied(f"ws://127.0.0.1:{served.port}/closed"))


def test_starlette_on_mongoose_can_only_close_what_it_denies() -> None:
    async def closed(url: str) -> None:
        async with websockets.connect(url) as socket:
            with pytest.raises(ConnectionClosedError) as caught:
                await socket.recv()
        assert caught.value.rcvd is not None
        assert caught.value.rcvd.code == 1011

    with framework("mongoose", "starlette") as (served, _):
        play(lambda: closed(f"ws://127.0.0.1:{served.port}/closed"))
        assert eventually(lambda: "Denial Response" in served.log)


def test_fastapi_in_depth(core: str) -> None:
    with framework(core, "fastapi") as (_, client):
        answer = client.get("/item/5?q=x").json()
        assert answer == {"number": 5, "q": "x", "resource": "resource"}
        assert client.get("/item/x").status_code == 422
        assert client.post("/upload", files={"file": b"x" * 3_000_000}).json() == 3_000_000
        assert client.get("/openapi.json").status_code == 200
        assert client.get("/docs").status_code == 200


def test_fastapi_with_many_threads_at_once(core: str) -> None:
    async def story(url: str) -> None:
        async with httpx.AsyncClient(base_url=url, timeout=60) as client:
            answers = await asyncio.gather(*(client.get(f"/item/{i}") for i in range(100)))
        assert [answer.json()["number"] for answer in answers] == list(range(100))

    with framework(core, "fastapi") as (served, _):
        play(lambda: story(served.url))


@pytest.mark.parametrize("transport", ["polling", "websocket"])
def test_a_socket_io_application_is_served(core: str, transport: str) -> None:
    async def story(url: str) -> None:
        client = socketio.AsyncClient()
        heard: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        client.on("heard", heard.set_result)
        await client.connect(url, transports=[transport])
        assert await client.call("shout", "hello", timeout=60) == 5
        assert await asyncio.wait_for(heard, 60) == "HELLO"
        await client.disconnect()

    with framework(core, "socketio") as (served, _):
        asyncio.run(story(served.url))


def test_requests_and_its_pool(core: str) -> None:
    with framework(core, "starlette") as (served, _), requests.Session() as session:
        for _ in range(5):
            assert session.get(served.url, timeout=60).text == "hello"
        assert (
            session.post(f"{served.url}/echo", data=b"x" * 200_000, timeout=60).content
            == b"x" * 200_000
        )
        with session.get(f"{served.url}/stream", stream=True, timeout=60) as response:
            assert b"".join(response.iter_content(3)).decode() == TICKS


def test_aiohttp_with_http_and_websocket(core: str) -> None:
    async def story(url: str) -> None:
        async with aiohttp.ClientSession() as session:
            answers = await asyncio.gather(*(ask(session, url) for _ in range(50)))
            assert answers == ["hello"] * 50
            async with session.ws_connect(f"{url}/ws", compress=15) as socket:
                await socket.send_str("x" * 5000)
                assert await socket.receive_str() == "x" * 5000

    async def ask(session: aiohttp.ClientSession, url: str) -> str:
        async with session.get(url) as response:
            return await response.text()

    with framework(core, "starlette") as (served, _):
        asyncio.run(story(served.url))
