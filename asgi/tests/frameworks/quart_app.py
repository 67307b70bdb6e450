"""Quart: routes, streams and a WebSocket."""

from collections.abc import AsyncIterator

from quart import Quart, request, websocket

app = Quart(__name__)


@app.get("/")
async def hello() -> str:
    return "hello"


@app.post("/echo")
async def echo() -> bytes:
    data = await request.get_data()
    assert isinstance(data, bytes)
    return data


@app.get("/stream")
async def stream() -> AsyncIterator[str]:
    async def ticks() -> AsyncIterator[str]:
        for i in range(5):
            yield f"tick {i}\n"

    return ticks()


@app.websocket("/ws")
async def chat() -> None:
    while True:
        await websocket.send(await websocket.receive())
