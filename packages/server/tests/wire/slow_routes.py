"""Routes for tests and benchmarks: each keeps the server busy in one particular way."""

import time
from collections.abc import AsyncIterator

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import StreamedAnswer
from rookery.server.http.endpoint import LOOP, Endpoints
from rookery.server.http.rendering import Frame


class Ticket(msgspec.Struct):
    """Something that a client may send and gets back."""

    name: str
    count: int = 0


api = Endpoints()


@runs(Domain.STREAM, "a line every tenth of a second until somebody ends it")
async def ticks(request: Request) -> Response:
    async def lines() -> AsyncIterator[bytes]:
        while True:
            yield b"data: tick\n\n"
            await anyio.sleep(0.1)

    return StreamedAnswer(
        lines(),
        site_of(request).streams,
        media_type="text/event-stream",
        last_words=b"event: end\ndata:\n\n",
    )


@runs(Domain.THREAD, "holds a thread for as long as asked")
async def hold(request: Request) -> Response:
    seconds = float(request.path_params["seconds"])
    await site_of(request).threads.io(time.sleep, seconds)
    return PlainTextResponse("held")


@runs(Domain.LOOP, "waits on the loop for as long as asked")
async def wait(request: Request) -> Response:
    await anyio.sleep(float(request.path_params["seconds"]))
    return PlainTextResponse("waited")


@runs(Domain.THREAD, "a thread that awaits something on the loop")
async def cross(request: Request) -> Response:
    seconds = float(request.path_params["seconds"])
    site = site_of(request)

    def call() -> None:
        assert site.bridge is not None
        site.bridge.call(anyio.sleep, seconds, seconds=seconds + 30)

    await site.threads.io(call)
    return PlainTextResponse("crossed")


@runs(Domain.THREAD, "renders a page as often as asked")
async def render(request: Request) -> Response:
    times = int(request.path_params["times"])
    site = site_of(request)
    view = msgspec.defstruct("View", [("trouble", str), ("role", str), ("address", str)])(
        "", "Primary", "http://localhost"
    )

    def work() -> str:
        for _ in range(times):
            text = site.templates.render("home.html", Frame(), view)
        return text

    return PlainTextResponse(await site.threads.cpu(work))


@api("POST /api/echo", LOOP, "decodes and encodes a small body", most_bytes=10**6)
async def echo(ticket: Ticket) -> Ticket:
    """Gives back what it was sent."""
    return ticket


@runs(Domain.LOOP, "fails")
async def fail(_request: Request) -> Response:
    raise ZeroDivisionError("a secret of the inside")


@runs(Domain.LOOP, "a constant")
async def inline(_request: Request) -> Response:
    return HTMLResponse("<body><script>document.body.innerText = 'it ' + 'ran'</script>")


def slow_routes() -> list[BaseRoute]:
    return [
        Route("/slow/ticks", ticks, methods=["GET"]),
        Route("/slow/hold/{seconds:float}", hold, methods=["GET"]),
        Route("/slow/wait/{seconds:float}", wait, methods=["GET"]),
        Route("/slow/cross/{seconds:float}", cross, methods=["GET"]),
        Route("/slow/render/{times:int}", render, methods=["GET"]),
        Route("/slow/inline", inline, methods=["GET"]),
        Route("/slow/fail", fail, methods=["GET"]),
        *api.make_routes(),
    ]
