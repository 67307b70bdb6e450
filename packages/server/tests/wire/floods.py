"""What strangers can send without end, for as long as wanted, and the memory of the server that
gets it."""

import selectors
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

HOST = b"host: localhost\r\n"
CHUNKED = b"transfer-encoding: chunked\r\n\r\n"
POST = b"POST /api/beat HTTP/1.1\r\n" + HOST
SMALL = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"
LINES = 20
STUCK_SECONDS = 2.0
"""A connection on which nothing more can be written for this long is given up for a new one."""


@dataclass(frozen=True, slots=True)
class Flood:
    """What each connection sends: first `head`, then `piece` again and again, at most `bytes`."""

    name: str
    head: bytes
    piece: bytes = b""
    most_bytes: int = 64 * 1024 * 1024

    @property
    def is_short(self) -> bool:
        return not self.piece


def upgrade(body: bytes) -> bytes:
    asks = b"connection: upgrade\r\nupgrade: foo\r\ncontent-length: %d\r\n\r\n" % len(body)
    return b"POST /login HTTP/1.1\r\n" + HOST + asks + body


FLOODS = (
    Flood("trailers", POST + CHUNKED + b"1\r\n{\r\n0\r\n", b"a:b\r\n" * 2000),
    Flood("one trailer", POST + CHUNKED + b"1\r\n{\r\n0\r\na: ", b"b" * 10_000),
    Flood("chunk extensions", POST + CHUNKED + b"1;", b"a" * 10_000),
    Flood("tiny chunks", POST + CHUNKED, b"1\r\n \r\n" * 2000),
    Flood("headers", POST, b"a: b\r\n" * 2000),
    Flood("blank lines", b"", b"\r\n" * 5000),
    Flood("upgrades with bodies", upgrade(SMALL * 100), upgrade(SMALL * 100)),
    Flood("small answers unread", b"", SMALL * 200),
    Flood("large answers unread", b"", b"GET /login HTTP/1.1\r\n" + HOST + b"\r\n"),
    Flood("calls broken off", POST + b"content-length: 9\r\n\r\n{"),
    Flood("forms broken off", b"POST /signup HTTP/1.1\r\n" + HOST + b"content-length: 9\r\n\r\na="),
    Flood("nonsense", b"nonsense\r\n\r\n"),
)


@dataclass(slots=True)
class Line:
    """One connection of a flood, whose answers nobody reads."""

    wire: socket.socket
    left: bytes
    sent: int = 0
    moved: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Spent:
    """What a flood has cost its sender."""

    connections: int = 0
    sent: int = 0


def flood(place: tuple[str, int], what: Flood, seconds: float, lines: int = LINES) -> Spent:
    """Floods a server, over several connections at once, each replaced as soon as it ends."""
    spent, until = Spent(), time.monotonic() + seconds
    with selectors.DefaultSelector() as chosen:
        for _ in range(lines):
            _open(place, what, chosen, spent)
        while time.monotonic() < until:
            for key, _ in chosen.select(0.1):
                _move(key.data, what, spent)
            for key in list(chosen.get_map().values()):
                if _is_over(key.data, what):
                    _close(key.data, chosen)
                    _open(place, what, chosen, spent)
        for key in list(chosen.get_map().values()):
            _close(key.data, chosen)
    return spent


def _open(
    place: tuple[str, int], what: Flood, chosen: selectors.BaseSelector, spent: Spent
) -> None:
    wire = socket.create_connection(place, timeout=60)
    wire.setblocking(False)
    chosen.register(wire, selectors.EVENT_WRITE, Line(wire, what.head))
    spent.connections += 1


def _move(line: Line, what: Flood, spent: Spent) -> None:
    if not line.left:
        line.left = what.piece
    try:
        sent = line.wire.send(line.left) if line.left else 0
    except (BrokenPipeError, ConnectionResetError):
        line.sent = what.most_bytes
        return
    except BlockingIOError:
        return
    line.left, line.sent = line.left[sent:], line.sent + sent
    line.moved = time.monotonic()
    spent.sent += sent


def _is_over(line: Line, what: Flood) -> bool:
    ended = what.is_short and not line.left
    stuck = time.monotonic() - line.moved > STUCK_SECONDS
    return ended or stuck or line.sent >= what.most_bytes


def _close(line: Line, chosen: selectors.BaseSelector) -> None:
    chosen.unregister(line.wire)
    with suppress(OSError):
        line.wire.close()


def own_mib(pid: int) -> float:
    """The memory that a process itself has written, without pages of files and libraries."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(each.split()[1]) for each in lines if each.startswith("Anonymous:")) / 1024


def settled_mib(pid: int, answers: Callable[[], object], tries: int = 5) -> float:
    """The memory once it no longer falls, and the server answers again."""
    least = own_mib(pid)
    for _ in range(tries):
        answers()
        time.sleep(0.1)
        least = min(least, own_mib(pid))
    return least
