"""What the asyncio thread says to the poll thread: typed wakeups, with a stash for large payloads.

A wakeup is a datagram from the process to itself, and the kernel silently drops what does not fit
into the receiving socket. So only a window of bytes is under way; the rest waits in order. What is
meant for a connection that has closed is forgotten with it, stash included.
"""

import threading
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

RESPONSE, WS_SEND, WS_CLOSE = b"R", b"W", b"X"
STREAM_HEAD, STREAM_CHUNK, STREAM_END = b"S", b"C", b"E"

_WAKEUP_MAX_BYTES = 8192
# The receiving socket takes 208 KiB by default, and the kernel counts a datagram about double.
WINDOW_BYTES = 96 * 1024
DATAGRAM_BYTES = 1280


@dataclass(slots=True, eq=False)
class _UnderWay:
    """A wakeup that has not been handled yet."""

    conn_id: int
    data: bytes
    key: str | None
    cost: int
    posted: bool = False
    gone: bool = False


class Wakeups:
    """The one way from the asyncio thread to the poll thread."""

    def __init__(self, post: Callable[[int, bytes], object]) -> None:
        """`post` is `Manager.wakeup`, which any thread may call."""
        self._post = post
        self._stash: dict[str, bytes] = {}
        self._stash_lock = threading.Lock()
        self._open: dict[int, deque[_UnderWay]] = {}
        self._waiting: deque[_UnderWay] = deque()
        self._bytes = 0

    def opened(self, conn_id: int) -> None:
        """A connection that wakeups can be sent to."""
        with self._stash_lock:
            self._open[conn_id] = deque()

    def closed(self, conn_id: int) -> None:
        """Forget the connection and all that was meant for it."""
        with self._stash_lock:
            for item in self._open.pop(conn_id, ()):
                item.gone = True
                self._bytes -= item.cost if item.posted else 0
                if item.key is not None:
                    del self._stash[item.key]
            self._pump()

    def send(self, conn_id: int, kind: bytes, payload: bytes = b"") -> bool:
        """Wake the connection; False when it has closed."""
        with self._stash_lock:
            under_way = self._open.get(conn_id)
            if under_way is None:
                return False
            item = self._pack(conn_id, kind, payload)
            under_way.append(item)
            self._waiting.append(item)
            self._pump()
        return True

    def take(self, conn_id: int, data: bytes) -> tuple[bytes, bytes]:
        """Kind (as a capital) and payload of a wakeup that has arrived."""
        kind, payload = data[:1], data[1:]
        with self._stash_lock:
            self._bytes -= self._open[conn_id].popleft().cost
            if kind.islower():
                payload = self._stash.pop(payload.decode())
            self._pump()
        return kind.upper(), payload

    def close(self) -> None:
        """The poll thread has ended: nothing can be sent any more."""
        with self._stash_lock:
            self._open.clear()
            self._waiting.clear()
            self._stash.clear()

    def _pack(self, conn_id: int, kind: bytes, payload: bytes) -> _UnderWay:
        key = None
        if len(payload) > _WAKEUP_MAX_BYTES:
            key = str(uuid.uuid4())
            self._stash[key] = payload
            kind, payload = kind.lower(), key.encode()
        return _UnderWay(conn_id, kind + payload, key, DATAGRAM_BYTES + 2 * len(payload))

    def _pump(self) -> None:
        while self._waiting:
            item = self._waiting[0]
            if not item.gone and self._bytes and self._bytes + item.cost > WINDOW_BYTES:
                return
            self._waiting.popleft()
            if not item.gone:
                item.posted = True
                self._bytes += item.cost
                self._post(item.conn_id, item.data)
