"""Starlette: routes, streams, background tasks, middleware, WebSocket, denial, lifespan state."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.websockets import WebSocket

done: list[str] = []


async def hello(request: Request) -> Response:
    return PlainTextResponse("hello")


async def file(request: Request) -> Response:
    return FileResponse(__file__)


async def echo(request: Request) -> Response:
    return Response(await request.body())


async def form(request: Request) -> Response:
    async with request.form() as data:
        return JSONResponse({key: str(value) for key, value in data.items()})


async def ticks() -> AsyncIterator[bytes]:
    for i in range(5):
        yield b"tick %d\n" % i
        await asyncio.sleep(0.01)


async def stream(request: Request) -> Response:
    return StreamingResponse(ticks())


async def background(request: Request) -> Response:
    return PlainTextResponse(",".join(done), background=BackgroundTask(done.append, "ran"))


async def state(request: Request) -> Response:
    return JSONResponse({"greeting": request.state.greeting, "url": str(request.url)})


async def cookies(request: Request) -> Response:
    response = PlainTextResponse("x" * 2000)
    response.set_cookie("a", "1")
    response.set_cookie("b", "2")
    return response


async def fails(request: Request) -> Response:
    raise LookupError("on purpose")


async def chat(socket: WebSocket) -> None:
    await socket.accept(subprotocol=next(iter(socket.scope["subprotocols"]), None))
    async for text in socket.iter_text():
        await socket.send_text(text)


async def closed(socket: WebSocket) -> None:
    await socket.send_denial_response(PlainTextResponse("members only", 401))


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[dict[str, str]]:
    yield {"greeting": "good morning"}


app = Starlette(
    routes=[
        Route("/", hello),
        Route("/file", file),
        Route("/echo", echo, methods=["POST"]),
        Route("/form", form, methods=["POST"]),
        Route("/stream", stream),
        Route("/background", background),
        Mount("/deep", routes=[Route("/state", state)]),
        Route("/cookies", cookies),
        Route("/fails", fails),
        WebSocketRoute("/ws", chat),
        WebSocketRoute("/closed", closed),
    ],
    middleware=[Middleware(GZipMiddleware)],
    lifespan=lifespan,
)
