"""A blocking source as an async stream: each chunk is read in a thread, on demand.

A thread is held only while a chunk is read, so a thousand slow downloads hold none. Nothing is
read ahead: the next chunk is fetched when the last one has been taken. When the stream ends,
fails or is given up, the source is closed, in a thread as well. Whoever may leave a stream
between two chunks iterates it under `contextlib.aclosing`; otherwise the source is closed when
the interpreter finds the forgotten stream.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from threading import Lock
from typing import Generic, TypeVar

from anyio import CancelScope
from anyio.lowlevel import checkpoint_if_cancelled

from rookery.boundary.offload import Threads

T = TypeVar("T")


async def stream(
    source: Iterable[T] | Callable[[], Iterable[T]], threads: Threads
) -> AsyncGenerator[T, None]:
    """Iterate a blocking source, or what a function returns when called in a thread."""
    reader = _Reader(source)
    try:
        while chunk := await threads.io(reader.read):
            # Whoever left during the read is not handed a chunk: the source is closed right away.
            await checkpoint_if_cancelled()
            yield chunk[0]
    finally:
        # A client that left must not keep the file of its download open.
        with CancelScope(shield=True):
            await threads.io(reader.close)


class _Reader(Generic[T]):
    """The thread's side of a stream: opens on the first read, one thread at a time."""

    def __init__(self, source: Iterable[T] | Callable[[], Iterable[T]]) -> None:
        self._source = source
        self._opened: Iterable[T] | None = None
        self._chunks: Iterator[T] | None = None
        # Closing waits for a read that was given up and is still under way in another thread.
        self._lock = Lock()

    def read(self) -> tuple[T] | None:
        """The next chunk in a tuple of one, or None at the end."""
        with self._lock:
            for chunk in self._open():
                return (chunk,)
            return None

    def close(self) -> None:
        with self._lock:
            for held in {id(part): part for part in (self._chunks, self._opened)}.values():
                closing = getattr(held, "close", None)
                if closing is not None:
                    closing()

    def _open(self) -> Iterator[T]:
        if self._chunks is None:
            source = self._source
            self._opened = source if isinstance(source, Iterable) else source()
            self._chunks = iter(self._opened)
        return self._chunks
