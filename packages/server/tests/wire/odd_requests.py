"""Odd requests: streams of one to four requests, well and badly framed, that are sent in pieces,
and a client that reads all that comes back."""

import asyncio
import random
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.proxies import proxied
from tests.wire.answer_count import (
    NAMED,
    PAUSE_SECONDS,
    Exchange,
    read_answers,
    read_requests,
    tapped,
)

AT_ONCE = 40
QUIET_SECONDS = 0.4
"""After so long without a word nothing more is expected."""
PATIENT_SECONDS = 20.0
"""The same where answers are missing."""

METHODS = (
    b"GET",
    b"GET",
    b"POST",
    b"POST",
    b"POST",
    b"HEAD",
    b"PUT",
    b"OPTIONS",
    b"DELETE",
    b"BREW",
)
VERSIONS = (b"HTTP/1.1",) * 12 + (b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.2", b"http/1.1")
HEADERS = (
    b"connection: upgrade\r\nupgrade: foo",
    b"connection: upgrade, keep-alive\r\nupgrade: websocket",
    b"connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABk",
    b"upgrade: foo",
    b"connection: upgrade",
    b"connection: keep-alive",
    b"expect: 100-continue",
    b"te: trailers",
    b"trailer: x-forwarded-for",
    b"x: \x01",
    b"x: caf\xc3\xa9",
    b"x : y",
    b" x: y",
    b"x: y\r\n z",
    b"x:",
    b"x: " + b"y" * 5000,
    b"content-length: 0",
    b"content-length: 5, 5",
    b"content-length: +5",
    b"content-length: 05",
    b"Content-Length : 5",
    b"content-length: 99999999999999999999",
    b"transfer-encoding: chunked",
    b"Transfer-Encoding:chunked",
    b"transfer-encoding : chunked",
    b"transfer-encoding: gzip, chunked",
    b"transfer-encoding: chunked, identity",
    b"transfer-encoding: xchunked",
    b"transfer-encoding:\x0bchunked",
    b"host: elsewhere",
)
SIZES = (
    b"%x",
    b"%X",
    b"0%x",
    b"000000000%x",
    b"%x;a=b",
    b'%x;a="b\r"',
    b"%x ",
    b" %x",
    b"+%x",
    b"0x%x",
)
ENDS = (
    b"0\r\n\r\n",
    b"0\r\n\r\n",
    b"00000\r\n\r\n",
    b"0;a\r\n\r\n",
    b"0\r\nx: y\r\n\r\n",
    b"0\r\nx-forwarded-for: 192.0.2.9\r\nhost: elsewhere\r\n\r\n",
    b"0\r\nconnection: close\r\nexpect: 100-continue\r\nupgrade: foo\r\n\r\n",
    b"0\r\n\r\n\r\n",
    b"0\n\n",
    b"",
)


@dataclass(frozen=True, slots=True)
class Stream:
    """What is sent on one connection, in pieces."""

    number: int
    pieces: tuple[bytes, ...]
    is_plain: bool
    """Whether nothing about it is odd, so that every request gets its answer."""

    @property
    def sent(self) -> bytes:
        return b"".join(self.pieces)


def make_stream(number: int, seed: int) -> Stream:
    """The stream of this number: always the same one for a seed."""
    chance = random.Random(f"{seed} {number}")
    is_plain = chance.random() < 0.3
    make = _plain_request if is_plain else _odd_request
    requests = [make(chance, b"%d-%d" % (number, place)) for place in range(chance.randint(1, 4))]
    sent = bytearray(b"".join(requests))
    if not is_plain and chance.random() < 0.2:
        for _ in range(chance.randint(1, 3)):
            sent[chance.randrange(len(sent))] = chance.choice(b"\0\t\n\r :;,\x7f\xff09azAZ/#%")
    last = b"GET /api/odd/%d-last HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n" % number
    return Stream(number, tuple(_cut(chance, bytes(sent) + last)), is_plain)


def _inner(name: bytes) -> bytes:
    """A request that is only the body of another one."""
    return b"GET /api/odd/%b-inner HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n" % name


def _plain_request(chance: random.Random, name: bytes) -> bytes:
    inner = _inner(name)
    method = chance.choice((b"GET", b"HEAD", b"POST", b"PUT", b"DELETE"))
    head = b"%b /api/odd/%b HTTP/1.1\r\nhost: 127.0.0.1\r\n" % (method, name)
    chunked = b"transfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(inner), inner)
    length = b"content-length: %d\r\n\r\n%b" % (len(inner), inner)
    return head + chance.choice((b"\r\n", b"\r\n", chunked, length))


def _odd_request(chance: random.Random, name: bytes) -> bytes:
    inner = _inner(name)
    target = chance.choice(
        (b"/api/odd/%b",) * 8 + (b"http://127.0.0.1/api/odd/%b", b"/api/odd/%b#f")
    )
    version = chance.choice(VERSIONS)
    head = [b"%b %b %b" % (chance.choice(METHODS), target % name, version), b"host: 127.0.0.1"]
    body = chance.choice((b"", b"", b"hello", inner, inner, b"\r\n" + inner))
    if body and chance.random() < 0.5:
        head.append(b"transfer-encoding: chunked")
        size = chance.choice(SIZES if chance.random() < 0.3 else SIZES[:1])
        body = size % len(body) + b"\r\n" + body + b"\r\n" + chance.choice(ENDS)
    elif body:
        off = chance.choice((0, 0, 0, 0, -1, 1))
        head.append(b"content-length: %d" % (len(body) + off))
    if chance.random() < 0.4:
        head.insert(chance.randint(1, len(head)), chance.choice(HEADERS))
    return b"\r\n".join(head) + b"\r\n\r\n" + body


def _cut(chance: random.Random, sent: bytes) -> Iterator[bytes]:
    """Pieces of a stream; many of the cuts are where a head ends."""
    places = {chance.randrange(len(sent)) for _ in range(chance.choice((0, 0, 1, 2)))}
    if chance.random() < 0.5:
        end = sent.find(b"\r\n\r\n")
        places |= {end + 4} if end >= 0 else set()
    begun = 0
    for place in (*sorted(places), len(sent)):
        if place > begun:
            yield sent[begun:place]
        begun = place


async def exchange(
    stream: Stream, place: tuple[str, int], trust: ssl.SSLContext | None = None
) -> list[str]:
    """Sends a stream to a server or proxy; returns sentences about answers that are missing or
    belong to somebody else."""
    name = "127.0.0.1" if trust else None
    reader, writer = await asyncio.open_connection(*place, ssl=trust, server_hostname=name)
    said, ended = bytearray(), True
    with suppress(OSError):
        for piece in stream.pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(PAUSE_SECONDS)  # so that the pieces are read one by one
        ended = await _read(reader, stream, said)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    foreign = {each for each in NAMED.findall(said) if each not in stream.sent}
    found = [f"{each!r} came to stream {stream.number}" for each in foreign]
    asked = read_requests(stream.sent).seen
    answers = read_answers(bytes(said), [each.method for each in asked]) or []
    # A proxy may end a connection whose answer came before the end of its request.
    is_cut = trust is not None and ended and len(answers) < len(asked)
    if stream.is_plain and len(answers) != len(asked) and not is_cut:
        found.append(f"{len(answers)} answers to {len(asked)} requests of stream {stream.number}")
    return found


async def _read(reader: asyncio.StreamReader, stream: Stream, said: bytearray) -> bool:
    """Reads until the connection ends, or until nothing more is to come. Returns whether it has
    ended."""
    seen = read_requests(stream.sent).seen
    methods = [each.method for each in seen]
    while True:
        answers = read_answers(bytes(said), methods)
        is_missing = answers is not None and len(answers) < sum(each.is_whole for each in seen)
        try:
            async with asyncio.timeout(PATIENT_SECONDS if is_missing else QUIET_SECONDS):
                data = await reader.read(65536)
        except TimeoutError:
            return False
        if not data:
            return True
        said += data


@dataclass(slots=True)
class Count:
    """What a campaign has sent and got."""

    streams: int = 0
    requests: int = 0
    answers: int = 0
    faults: list[str] = field(default_factory=list)

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.streams + other.streams,
            self.requests + other.requests,
            self.answers + other.answers,
            self.faults + other.faults,
        )


STRAIGHT = "straight"
ROUTES = (STRAIGHT, "caddy", "nginx", "haproxy")


def send_by(route: str, server: tuple[str, int], numbers: range, seed: int, folder: Path) -> Count:
    """Sends streams to a server, straight or through a proxy, and counts what arrived there."""
    count = Count(len(numbers))
    with socket.create_server(("127.0.0.1", 0)) as listening, ExitStack() as stack:
        place, trust = listening.getsockname(), None
        if route != STRAIGHT:
            proxy = stack.enter_context(proxied(route, folder, [f"127.0.0.1:{place[1]}"]))
            place, trust = ("127.0.0.1", proxy.port), proxy.trust
        exchanges = asyncio.run(_send_all(numbers, seed, count, (listening, server), place, trust))
    for each in exchanges:
        asked, answered, faults = each.judge()
        count.requests += asked
        count.answers += answered
        count.faults += [f"{fault}: {bytes(each.requests)!r}" for fault in faults]
    return count


async def _send_all(
    numbers: range,
    seed: int,
    count: Count,
    ends: tuple[socket.socket, tuple[str, int]],
    place: tuple[str, int],
    trust: ssl.SSLContext | None,
) -> list[Exchange]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def send(number: int) -> None:
        async with gate:
            count.faults += await exchange(make_stream(number, seed), place, trust)

    async with tapped(*ends) as exchanges:
        await asyncio.gather(*map(send, numbers))
    return exchanges
