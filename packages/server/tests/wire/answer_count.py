"""Counts answers to requests: a tap before a server keeps what passes in both directions, and h11
says which requests that were.

One request has one answer, and the answers come in the order of their requests. A request that h11
or the server can't read has one refusal, after which the connection ends. An answer names the path
that was asked for, so that an answer to another request is noticed.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace

import h11

PAUSE_SECONDS = 0.003
NAMED = re.compile(rb"/api/odd/[0-9a-z-]+")


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as h11 reads it, whose body may still be incomplete."""

    method: bytes
    target: bytes
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Requests:
    """All requests of one direction of a connection, and whether a head follows that is incomplete
    or that h11 refuses."""

    seen: tuple[Seen, ...]
    open_head: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: the path that it names, if any, and whether it is the last."""

    status: int
    names: bytes
    closes: bool


def read_requests(data: bytes) -> Requests:
    """The requests in these bytes."""
    found: list[Seen] = []
    # Blank lines before a request are skipped (RFC 9112, 2.2), which h11 does not do.
    # A server may also refuse them, if they are no whole lines.
    while data:
        data = data.lstrip(b"\r\n")
        if not data:
            return Requests(tuple(found), open_head=True)
        parser = h11.Connection(h11.SERVER)
        parser.receive_data(data)
        try:
            event = parser.next_event()
            if not isinstance(event, h11.Request):
                return Requests(tuple(found), open_head=True)
            found.append(Seen(event.method, event.target, is_whole=False))
            while isinstance(event, h11.Request | h11.Data):
                event = parser.next_event()
        except h11.RemoteProtocolError:
            return Requests(tuple(found), open_head=parser.their_state is not h11.SEND_BODY)
        if not isinstance(event, h11.EndOfMessage):
            break
        found[-1] = replace(found[-1], is_whole=True)
        # h11 ends every connection of HTTP/1.0; a server may keep one if it is asked to.
        if parser.their_state is h11.MUST_CLOSE and b"keep-alive" not in data.lower():
            break
        data, _ = parser.trailing_data
    return Requests(tuple(found), open_head=False)


def read_answers(data: bytes, methods: list[bytes]) -> list[Answer] | None:
    """The answers in these bytes to requests of these methods; None if they are no answers. An
    incomplete one at the end is left out."""
    found: list[Answer] = []
    while data:
        head, blank, rest = data.partition(b"\r\n\r\n")
        if not blank:
            return found
        line, *headers = head.split(b"\r\n")
        if re.fullmatch(rb"HTTP/1\.1 [1-5][0-9][0-9] [^\r\n]*", line) is None:
            return None
        status = int(line.split(b" ")[1])
        if status < 200:
            data = rest
            continue
        named = dict(each.lower().split(b": ", 1) for each in headers)
        method = methods[len(found)] if len(found) < len(methods) else b""
        size = 0 if method == b"HEAD" else int(named.get(b"content-length", b"0"))
        if len(rest) < size:
            return found
        body, data = rest[:size], rest[size:]
        name = NAMED.search(body)
        closes = named.get(b"connection") == b"close"
        found.append(Answer(status, name[0] if name else b"", closes))
    return found


@dataclass(slots=True)
class Exchange:
    """What has passed on one connection to a server."""

    requests: bytearray = field(default_factory=bytearray)
    answers: bytearray = field(default_factory=bytearray)
    ended: bool = False
    """Whether the server has closed first."""

    def judge(self) -> tuple[int, int, list[str]]:
        """The number of requests and of answers, and sentences about what is wrong. A server may
        refuse what h11 accepts and end the connection; answers are missing where it does not."""
        asked = read_requests(bytes(self.requests))
        answers = read_answers(bytes(self.answers), [each.method for each in asked.seen])
        if answers is None:
            return len(asked.seen), 0, ["what came back is no answer"]
        return len(asked.seen), len(answers), list(_faults(asked, answers, self.ended))


def _faults(asked: Requests, answers: list[Answer], ended: bool) -> list[str]:
    most = len(asked.seen) + int(asked.open_head)
    found = []
    if len(answers) > most:
        found.append(f"{len(answers)} answers to {most} requests")
    for request, answer in zip(asked.seen, answers, strict=False):
        name = NAMED.search(request.target)
        if answer.names and (name is None or name[0] != answer.names):
            found.append(f"{answer.names!r} answers {request.target!r}")
    if any(answer.closes for answer in answers[:-1]):
        found.append("an answer after the last one")
    if asked.open_head and len(answers) == most and not answers[-1].closes:
        found.append("a head that h11 refuses was answered like any other")
    whole = sum(each.is_whole for each in asked.seen)
    if len(answers) < whole and not ended:
        found.append(f"{len(answers)} answers to {whole} whole requests")
    return found


@asynccontextmanager
async def tapped(
    listening: socket.socket, server: tuple[str, int]
) -> AsyncIterator[list[Exchange]]:
    """Passes all connections on to a server until the block ends, and keeps what passes."""
    exchanges, open_ones = list[Exchange](), set[asyncio.Task[None]]()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        open_ones.add(task)
        exchange = Exchange()
        exchanges.append(exchange)
        # Only the end of the block cancels it, and then nobody waits for more.
        with suppress(OSError, asyncio.CancelledError):
            await _carry(exchange, (reader, writer), await asyncio.open_connection(*server))
        await _close(writer)
        open_ones.discard(task)

    accepting = await asyncio.start_server(carry, sock=listening)
    try:
        yield exchanges
    finally:
        accepting.close()
        await asyncio.sleep(PAUSE_SECONDS)  # who was just accepted begins
        for task in tuple(open_ones):
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)


Ends = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def _carry(exchange: Exchange, client: Ends, server: Ends) -> None:
    there = asyncio.ensure_future(_copy(client[0], server[1], exchange.requests))
    back = asyncio.ensure_future(_copy(server[0], client[1], exchange.answers))
    try:
        done, _ = await asyncio.wait({there, back}, return_when=asyncio.FIRST_COMPLETED)
        exchange.ended = back in done
        if not exchange.ended:
            with suppress(OSError):
                server[1].write_eof()
            await back
    finally:
        for task in (there, back):
            task.cancel()
        await _close(server[1])


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _copy(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, kept: bytearray
) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            kept += data
            writer.write(data)
            await writer.drain()
