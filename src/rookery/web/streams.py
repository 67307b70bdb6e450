"""Answers without an end, and the registry through which they are told to end.

The server waits for every answer before it stops, so each long one joins `Streams`: server-sent
events, downloads. When the process stops, `end_all` cancels what they wait for, and each closes
its answer properly, with its last words where it has some.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, contextmanager
from typing import cast

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send


class Streams:
    """The open streams of one process; changed by the event loop alone."""

    def __init__(self) -> None:
        self._open: set[anyio.CancelScope] = set()
        self._ended = False
        self.joined = 0

    @contextmanager
    def join(self) -> Iterator[anyio.CancelScope]:
        """The block is left early, without an error, when all streams are told to end."""
        with anyio.CancelScope() as scope:
            self._open.add(scope)
            self.joined += 1
            if self._ended:
                scope.cancel()
            try:
                yield scope
            finally:
                self._open.discard(scope)

    def end_all(self) -> int:
        """Tells every stream to end, and every later one at once; gives their number."""
        self._ended = True
        for scope in tuple(self._open):
            scope.cancel()
        return len(self._open)

    def __len__(self) -> int:
        return len(self._open)


class StreamedAnswer(Response):
    """An answer sent chunk by chunk until its source, its client or the process ends."""

    def __init__(
        self,
        source: AsyncIterator[bytes],
        streams: Streams,
        *,
        media_type: str,
        headers: dict[str, str] | None = None,
        last_words: bytes = b"",
    ) -> None:
        super().__init__(headers=headers, media_type=media_type)
        del self.headers["content-length"]
        self._source = source
        self._streams = streams
        self._last_words = last_words

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        with self._streams.join() as until_told:
            leaving = asyncio.ensure_future(cancel_on_leave(receive, until_told))
            try:
                await self._send_all(send)
            finally:
                leaving.cancel()
        last = self._last_words if until_told.cancel_called else b""
        await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _send_all(self, send: Send) -> None:
        source = cast("AsyncGenerator[bytes, None]", self._source)
        async with aclosing(source):
            async for chunk in source:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def cancel_on_leave(receive: Receive, stream: anyio.CancelScope) -> None:
    """Nobody reads the answer any more."""
    while (await receive())["type"] != "http.disconnect":
        pass
    stream.cancel()
