"""Keeps what a program writes within bounds: the head, where the first error is, and the tail."""

HEAD_BYTES = 2**19
TAIL_BYTES = 2**19


class Output:
    """A log of at most a megabyte, however much is poured into it; one writer."""

    def __init__(self, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self._head_bytes, self._tail_bytes = head_bytes, tail_bytes
        self._left_out = 0

    def add(self, data: bytes) -> None:
        room = self._head_bytes - len(self._head)
        self._head += data[:room]
        self._tail += data[room:]
        # Cut rarely, so that a flood is not copied once for each of its pieces.
        if len(self._tail) > 2 * self._tail_bytes:
            self._cut()

    def line(self, text: str) -> None:
        """A line of our own among what the programs say."""
        self.add(f"{text}\n".encode())

    @property
    def text(self) -> str:
        self._cut()
        gap = f"\n[... {self._left_out:,} bytes left out ...]\n" if self._left_out else ""
        head, tail = (bytes(part).decode("utf-8", "replace") for part in (self._head, self._tail))
        return head + gap + tail

    def _cut(self) -> None:
        extra = len(self._tail) - self._tail_bytes
        if extra > 0:
            del self._tail[:extra]
            self._left_out += extra


def tells_of_full_disk(log: str) -> bool:
    """Programs have one way to say it."""
    return "No space left on device" in log or "Disk quota exceeded" in log
