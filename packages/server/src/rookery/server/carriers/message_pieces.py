"""Cuts the bytes of a connection so that a parser never gets more than one request at a time.

A parser of HTTP makes a request of everything it is given. Requests that were sent ahead would take
memory before anybody looks at the first, and a refused one would be answered before it. Every
message without a length ends with a blank line, so a piece ends with the next blank line or with
the length that the head has announced. Blank lines elsewhere only make pieces smaller.
"""

END = b"\r\n\r\n"
PIECE_BYTES = 16 * 1024


class MessagePieces:
    """The cut of one connection."""

    __slots__ = ("_left", "_tail")

    def __init__(self) -> None:
        self._left = 0
        self._tail = b""

    def expect(self, length: int) -> None:
        """Say how long the body is that follows; its pieces need no other end."""
        self._left = length

    def take(self, data: bytes, start: int) -> bytes:
        """The next piece of data."""
        piece = data[start : self._end(data, start)]
        self._left = max(0, self._left - len(piece))
        self._tail = (self._tail + piece[-3:])[-3:]
        return piece

    def _end(self, data: bytes, start: int) -> int:
        if self._left:
            return start + self._left
        # A blank line may have begun in the piece before.
        across = (self._tail + data[start : start + 3]).find(END)
        if across >= 0:
            return start + across + len(END) - len(self._tail)
        end = data.find(END, start, start + PIECE_BYTES)
        return end + len(END) if end >= 0 else start + PIECE_BYTES
