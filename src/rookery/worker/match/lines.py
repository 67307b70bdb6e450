"""Splits what an engine writes into lines, as bytes, within fixed bounds of memory.

Engines write twenty to forty lines of search information a move and one of them matters. So lines
stay bytes; the last one with a score is remembered, an exact one rather than a bound, and nothing
is parsed here.
"""

MOST_LINE_BYTES = 65_536
"""A longer line is dropped: no move and no score needs so much."""


class Lines:
    """One stream of bytes in, its complete lines out; mutable, fed by one reader."""

    __slots__ = ("_partial", "_skipping")

    def __init__(self) -> None:
        self._partial = b""
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that these bytes complete, without their ends."""
        head, newline, rest = data.partition(b"\n")
        if not newline:
            self._keep(head)
            return []
        complete = rest.split(b"\n")
        last = complete.pop()
        if not self._skipping:
            complete.insert(0, self._partial + head)
        self._partial, self._skipping = b"", False
        self._keep(last)
        return complete

    def _keep(self, data: bytes) -> None:
        """Hold the beginning of a line whose end has not come; an endless one is dropped."""
        if not self._skipping:
            self._partial += data
            if len(self._partial) > MOST_LINE_BYTES:
                self._partial, self._skipping = b"", True


class LastScore:
    """The line that says how a search stands: the last exact score, or the last bound."""

    __slots__ = ("_bound", "_exact")

    def __init__(self) -> None:
        self._bound = self._exact = b""

    @property
    def line(self) -> bytes:
        return self._exact or self._bound

    def hear(self, lines: list[bytes]) -> None:
        """Take in the lines of one reading; those before the last exact score don't count."""
        bound = b""
        for line in reversed(lines):
            if not has_score(line):
                continue
            if not is_bound(line):
                self._exact = line
                return
            bound = bound or line
        self._bound = bound or self._bound


def is_bound(line: bytes) -> bool:
    """Whether the score is only known to be above or below what is said."""
    return b"bound" in line and (b" lowerbound" in line or b" upperbound" in line)


def has_score(line: bytes) -> bool:
    """Whether a line says how the main variation stands."""
    return (
        line.startswith(b"info ")
        and b" score " in line
        and not line.startswith(b"info string")
        and (b" multipv " not in line or b" multipv 1 " in line)
    )
