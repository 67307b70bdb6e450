"""Applications that are served over real sockets; what they notice can be asked for over HTTP."""

import asyncio
import gc
import json
import os
import resource
import signal
import ssl
import sys
import time
from pathlib import Path
from typing import Any

from rookery_asgi.types import Message, Receive, Scope, Send
from tests.machine import answer, read_body

notes: dict[str, Any] = {"begun": 0, "disconnects": 0, "raised": 0, "cancelled": 0}
released = asyncio.Event()


async def lifespan(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    scope["state"]["pid"] = os.getpid()
    await send({"type": "lifespan.startup.complete"})
    await receive()
    print("shutdown seen", file=sys.stderr, flush=True)
    await send({"type": "lifespan.shutdown.complete"})


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """One path per behaviour."""
    if scope["type"] == "lifespan":
        await lifespan(scope, receive, send)
    elif scope["type"] == "websocket":
        await WEBSOCKETS.get(scope["path"], chat)(scope, receive, send)
    else:
        await ROUTES.get(scope["path"], missing)(scope, receive, send)


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, b"hello")


async def missing(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, b"no such path", 404)


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, await read_body(receive))


async def describe(scope: Scope, receive: Receive, send: Send) -> None:
    keys = ("scheme", "client", "server", "path", "root_path", "http_version", "state")
    await answer(send, json.dumps({key: scope[key] for key in keys}).encode())


async def tell(scope: Scope, receive: Receive, send: Send) -> None:
    tasks = len([t for t in asyncio.all_tasks() if not t.done()])
    await answer(send, json.dumps({**notes, "tasks": tasks}).encode())


async def count(scope: Scope, receive: Receive, send: Send) -> None:
    """Counts the bytes of a body of any length."""
    notes["begun"] += 1
    total, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            notes["disconnects"] += 1
            return
        total += len(message["body"])
        more = message["more_body"]
    await answer(send, str(total).encode())


async def late_count(scope: Scope, receive: Receive, send: Send) -> None:
    """Takes no part of the body before it is told to."""
    await released.wait()
    await count(scope, receive, send)


async def release(scope: Scope, receive: Receive, send: Send) -> None:
    released.set()
    await answer(send)


async def stream(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends as many megabytes as the query says."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    part = b"x" * 65536
    try:
        for _ in range(16 * int(scope["query_string"] or b"1")):
            await send({"type": "http.response.body", "body": part, "more_body": True})
    except OSError:
        notes["raised"] += 1
        raise
    await send({"type": "http.response.body"})


async def events(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends an event now and then, for ever."""
    notes["begun"] += 1
    await send({"type": "http.response.start", "status": 200, "headers": []})
    try:
        while True:
            await send({"type": "http.response.body", "body": b"event\n", "more_body": True})
            await asyncio.sleep(0.05)
    except OSError:
        notes["raised"] += 1
        raise
    except asyncio.CancelledError:
        notes["cancelled"] += 1
        raise


async def megabyte(scope: Scope, receive: Receive, send: Send) -> None:
    """As many megabytes as the query says, in one piece."""
    notes["begun"] += 1
    await answer(send, b"x" * 1_000_000 * int(scope["query_string"] or b"1"))


async def send_file(scope: Scope, receive: Receive, send: Send) -> None:
    """The file that the query names, sent by the server."""
    notes["begun"] += 1
    await send({"type": "http.response.start", "status": 200, "headers": []})
    path = scope["query_string"].decode()
    await send({"type": "http.response.pathsend", "path": path})


async def describe_tls(scope: Scope, receive: Receive, send: Send) -> None:
    """What the server knows of the connection's TLS."""
    await answer(send, json.dumps(scope["extensions"].get("tls")).encode())


async def wait(scope: Scope, receive: Receive, send: Send) -> None:
    """Waits until the client leaves."""
    notes["begun"] += 1
    message: Message = {"type": ""}
    while message["type"] != "http.disconnect":
        message = await receive()
    notes["disconnects"] += 1


async def never(scope: Scope, receive: Receive, send: Send) -> None:
    notes["begun"] += 1
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        notes["cancelled"] += 1
        raise


async def block(scope: Scope, receive: Receive, send: Send) -> None:
    time.sleep(0.5)
    await answer(send, b"blocked")


async def raises(scope: Scope, receive: Receive, send: Send) -> None:
    raise LookupError("on purpose")


async def raises_late(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"part", "more_body": True})
    await asyncio.sleep(0.01)
    raise LookupError("on purpose")


async def raises_after(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, b"fine")
    raise LookupError("on purpose")


async def returns(scope: Scope, receive: Receive, send: Send) -> None:
    return


async def leaves(scope: Scope, receive: Receive, send: Send) -> None:
    raise SystemExit(7)


async def dies(scope: Scope, receive: Receive, send: Send) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def chat(scope: Scope, receive: Receive, send: Send) -> None:
    """A WebSocket echo."""
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        await send({**message, "type": "websocket.send"})
    notes["disconnects"] += 1


async def tidy_chat(scope: Scope, receive: Receive, send: Send) -> None:
    """Takes a while to clean up after its client, and says when it has."""
    await receive()
    await send({"type": "websocket.accept"})
    while (await receive())["type"] != "websocket.disconnect":
        pass
    await tidy_up()


async def undecided(scope: Scope, receive: Receive, send: Send) -> None:
    """Never answers the handshake."""
    notes["begun"] += 1
    while (await receive())["type"] != "websocket.disconnect":
        pass
    await tidy_up()


async def tidy_events(scope: Scope, receive: Receive, send: Send) -> None:
    """Sends events until its client leaves or the server stops, as server-sent events are."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await receive()
    leaving = asyncio.ensure_future(receive())
    while not leaving.done():
        await send({"type": "http.response.body", "body": b"event\n", "more_body": True})
        await asyncio.wait([leaving], timeout=0.1)
    await tidy_up()
    await send({"type": "http.response.body"})


async def tidy_up() -> None:
    await asyncio.sleep(0.5)
    print("tidied up", file=sys.stderr, flush=True)


async def process(scope: Scope, receive: Receive, send: Send) -> None:
    """What the server has changed in the process it runs in."""
    found = {"frozen": gc.get_freeze_count(), "limit": resource.getrlimit(resource.RLIMIT_NOFILE)}
    await answer(send, json.dumps(found).encode())


async def block_for_long(scope: Scope, receive: Receive, send: Send) -> None:
    """Blocks its process until the file that the query names is gone."""
    path = Path(scope["query_string"].decode())
    path.touch()
    while path.exists():
        time.sleep(0.01)
    await answer(send, b"blocked")


WEBSOCKETS = {"/tidy": tidy_chat, "/undecided": undecided}
ROUTES = {
    "/": hello,
    "/echo": echo,
    "/scope": describe,
    "/notes": tell,
    "/count": count,
    "/late-count": late_count,
    "/release": release,
    "/stream": stream,
    "/events": events,
    "/megabyte": megabyte,
    "/file": send_file,
    "/tls": describe_tls,
    "/wait": wait,
    "/never": never,
    "/block": block,
    "/block-for-long": block_for_long,
    "/tidy": tidy_events,
    "/process": process,
    "/raises": raises,
    "/raises-late": raises_late,
    "/raises-after": raises_after,
    "/returns": returns,
    "/leaves": leaves,
    "/dies": dies,
}


async def fails_to_start(scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    await send({"type": "lifespan.startup.failed", "message": "no database"})


async def slow_to_start(scope: Scope, receive: Receive, send: Send) -> None:
    """Has started when it is told to by SIGUSR1."""
    if scope["type"] == "lifespan":
        await receive()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, released.set)
        print("starting", file=sys.stderr, flush=True)
        await released.wait()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
    else:
        await answer(send, b"up")


async def hangs_in_shutdown(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await asyncio.sleep(3600)


async def two_senders(scope: Scope, receive: Receive, send: Send) -> None:
    """Two tasks of one WebSocket send, one large and one small messages."""
    if scope["type"] == "lifespan":
        return
    await send({"type": "websocket.accept"})

    async def large() -> None:
        for _ in range(20):
            await send({"type": "websocket.send", "bytes": os.urandom(300_000)})

    async def small() -> None:
        while True:
            await asyncio.sleep(0)
            await send({"type": "websocket.send", "bytes": b"small"})

    beside = asyncio.create_task(small())
    await large()
    beside.cancel()
    await send({"type": "websocket.send", "text": "done"})


def make() -> Any:
    """A factory."""
    return app


def client_context() -> ssl.SSLContext:
    """A client that trusts anyone."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
