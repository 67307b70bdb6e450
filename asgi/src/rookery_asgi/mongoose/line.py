"""A connection as the application's coroutine sees it; all of it runs on the asyncio thread."""

import asyncio

from rookery_asgi.mongoose.state import ClientDisconnected, _ConnState
from rookery_asgi.mongoose.wakeups import Wakeups
from rookery_asgi.types import Message

_STREAM_CONCURRENCY = 16
MESSAGE_BYTES = 300
"""What a waiting message costs besides its content."""


def weight(message: Message) -> int:
    """About how many bytes of memory a received message takes."""
    return MESSAGE_BYTES + len(message.get("text") or message.get("bytes") or b"")


class Line:
    """Receives from the state's queue and sends by wakeups."""

    def __init__(self, conn_id: int, state: _ConnState, wakeups: Wakeups) -> None:
        """For one request or one WebSocket."""
        self.state = state
        self._conn_id = conn_id
        self._wakeups = wakeups

    async def receive(self) -> Message:
        """The next message; a disconnect is the last one and is told as often as is asked."""
        message = await self.state.receive_queue.get()
        if message["type"].endswith(".disconnect"):
            self.state.receive_queue.put_nowait(message)
        else:
            self.state.taken_bytes += weight(message)
        return message

    def wake(self, kind: bytes, payload: bytes = b"") -> None:
        """Hand something to the poll thread."""
        if not self._wakeups.send(self._conn_id, kind, payload):
            raise ClientDisconnected("the client has left")

    async def wake_with_permit(self, kind: bytes, payload: bytes) -> None:
        """The same with fewer than sixteen under way; the poll thread gives the permit back."""
        if self.state.stream_sem is None:
            self.state.stream_sem = asyncio.Semaphore(_STREAM_CONCURRENCY)
        await self.state.stream_sem.acquire()
        if self.state.gone:
            self.state.stream_sem.release()
            raise ClientDisconnected("the client has left")
        self.wake(kind, payload)


def tell_gone(state: _ConnState, message: Message) -> None:
    """The connection has closed: whoever waits for it or for a permit goes on."""
    state.receive_queue.put_nowait(message)
    if state.stream_sem is not None:
        state.stream_sem.release()
