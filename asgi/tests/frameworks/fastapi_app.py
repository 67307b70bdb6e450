"""FastAPI: sync and async handlers, validation, uploads, streams, WebSocket."""

from collections.abc import Iterator
from typing import Annotated

from fastapi import Body, Depends, FastAPI, UploadFile, WebSocket
from fastapi.responses import PlainTextResponse, StreamingResponse

app = FastAPI()


@app.get("/")
def hello() -> PlainTextResponse:
    return PlainTextResponse("hello")


@app.post("/echo")
async def echo(
    data: Annotated[bytes, Body(media_type="application/octet-stream")],
) -> PlainTextResponse:
    return PlainTextResponse(data)


def opened() -> Iterator[str]:
    yield "resource"


@app.get("/item/{number}")
def item(
    number: int, resource: Annotated[str, Depends(opened)], q: str = ""
) -> dict[str, int | str]:
    return {"number": number, "q": q, "resource": resource}


@app.post("/upload")
async def upload(file: UploadFile) -> int:
    return len(await file.read())


@app.get("/stream")
def stream() -> StreamingResponse:
    return StreamingResponse(f"tick {i}\n" for i in range(5))


@app.websocket("/ws")
async def chat(socket: WebSocket) -> None:
    await socket.accept()
    async for text in socket.iter_text():
        await socket.send_text(text)
