"""A reader of server-sent events that calls the app in this very process."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
from starlette.applications import Starlette
from starlette.types import Message

from tests.eventually import eventually


@dataclass
class Sent:
    """One block of the stream."""

    event: str = ""
    data: str = ""
    id: str = ""


@dataclass
class EventReader:
    """Keeps what it was sent; while it is held, nothing more is taken."""

    status: int = 0
    body: bytes = b""
    ended: bool = False
    left: anyio.Event = field(default_factory=anyio.Event)
    going: anyio.Event = field(default_factory=anyio.Event)

    async def receive(self) -> Message:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        await self.going.wait()
        self.status = message.get("status", self.status)
        self.body += message.get("body", b"")
        self.ended = message["type"] == "http.response.body" and not message["more_body"]

    @property
    def blocks(self) -> list[Sent]:
        return [_block(text) for text in self.body.decode().split("\n\n") if text]

    @property
    def events(self) -> list[Sent]:
        return [each for each in self.blocks if each.event]

    async def until(self, count: int) -> list[Sent]:
        """The events, once there are so many."""
        await eventually(lambda: len(self.events) >= count)
        return self.events

    async def until_open(self) -> None:
        await eventually(lambda: b"\n\n" in self.body)


def _block(text: str) -> Sent:
    fields = dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)
    return Sent(fields.get("event", ""), fields.get("data", ""), fields.get("id", ""))


@asynccontextmanager
async def reading(
    app: Starlette, path: str, headers: Mapping[str, str] | None = None, *, held: bool = False
) -> AsyncIterator[EventReader]:
    """An open stream; at the end of the block the reader leaves."""
    parts = urlsplit(path)
    named = {"host": "localhost", **(headers or {})}
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "GET",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "headers": [(name.lower().encode(), value.encode()) for name, value in named.items()],
        "client": ("192.0.2.7", 1234),
        "scheme": "http",
    }
    reader = EventReader()
    if not held:
        reader.going.set()
    async with anyio.create_task_group() as group:
        group.start_soon(app, scope, reader.receive, reader.send)
        if not held:
            await reader.until_open()
        yield reader
        reader.going.set()
        reader.left.set()
