"""Lines from stdin: waited for between searches, looked for without waiting during one."""

import os
import select
from collections import deque
from collections.abc import Sequence


class Inbox:
    """Reads a file descriptor itself, because a buffered reader can't be asked what it holds."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._rest = b""
        self._lines: deque[str] = deque()
        self.ended = False

    def wait(self) -> str | None:
        """The next line; None when there will be none."""
        while not self._lines and not self.ended:
            self._read()
        return self._lines.popleft() if self._lines else None

    def look(self) -> str | None:
        """The next line if it is there already."""
        while not self._lines and not self.ended and self._is_readable():
            self._read()
        return self._lines.popleft() if self._lines else None

    def put_back(self, lines: Sequence[str]) -> None:
        """Lines that were taken out too early come again first."""
        self._lines.extendleft(reversed(lines))

    def _is_readable(self) -> bool:
        return bool(select.select([self._descriptor], [], [], 0)[0])

    def _read(self) -> None:
        piece = os.read(self._descriptor, 65536)
        *lines, self._rest = (self._rest + piece).split(b"\n")
        if not piece:
            self.ended = True
            lines, self._rest = [self._rest], b""
        self._lines.extend(
            text for line in lines if (text := line.decode("utf-8", "replace").strip())
        )
