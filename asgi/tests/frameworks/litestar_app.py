"""Litestar: handlers, a stream and a WebSocket."""

from collections.abc import AsyncIterator
from typing import Any

from litestar import Litestar, MediaType, Request, WebSocket, get, head, post, websocket
from litestar.exceptions import WebSocketDisconnect
from litestar.response import Stream


@get("/", media_type=MediaType.TEXT, sync_to_thread=False)
def hello() -> str:
    return "hello"


@head("/", sync_to_thread=False)
def bare() -> None:
    return None


@post("/echo", media_type="application/octet-stream", status_code=200)
async def echo(request: Request[Any, Any, Any]) -> bytes:
    return await request.body()


async def ticks() -> AsyncIterator[str]:
    for i in range(5):
        yield f"tick {i}\n"


@get("/stream", sync_to_thread=False)
def stream() -> Stream:
    return Stream(ticks())


@websocket("/ws")
async def chat(socket: WebSocket[Any, Any, Any]) -> None:
    await socket.accept()
    try:
        while True:
            await socket.send_text(await socket.receive_text())
    except WebSocketDisconnect:
        return


app = Litestar([hello, bare, echo, stream, chat])
