"""An address in the lease that is no primary, and clients that want to be taken for one of us."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from rookery.server.http import forwarding, primary_link, to_primary
from rookery.server.http.internal_calls import AGAIN
from rookery.server.http.primary_link import AnswerLate, AnswerLost, PrimaryLink
from tests.eventually import eventually
from tests.twins.instances import SharedLease, open_secondary, served
from tests.twins.sites import OpenSite

pytestmark = pytest.mark.anyio

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
REQUEST = b"POST /x HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
UNDECIDED = b"HTTP/1.1 503 No\r\n%b: 1\r\ncontent-length: 0\r\n\r\n" % AGAIN


@asynccontextmanager
async def talking(talk: Talk) -> AsyncIterator[str]:
    """The address of a server that says what a test wants."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await talk(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def saying(*answers: bytes) -> Talk:
    """Each request is answered with the next of these; then it hangs up."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(answer)

    return talk


async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    await reader.read()


@asynccontextmanager
async def linked(talk: Talk) -> AsyncIterator[PrimaryLink]:
    async with talking(talk) as address:
        link = PrimaryLink(address)
        try:
            yield link
        finally:
            link.close()


@pytest.mark.parametrize(
    "said",
    [
        b"hello, who are you?\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000,
        b"\x00" * 100,
        b"",
    ],
)
async def test_what_is_no_answer_is_a_lost_one(said: bytes) -> None:
    async with linked(saying(said)) as link:
        with pytest.raises(AnswerLost):
            await link.ask(REQUEST, 5.0)
        await eventually(lambda: len(link) == 0)


async def test_an_answer_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primary_link, "LARGEST_ANSWER", 100_000)

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1000\r\n" + b"a" * 0x1000 + b"\r\n")
            await writer.drain()

    async with linked(flood) as link:
        with pytest.raises(AnswerLost, match="large"):
            await link.ask(REQUEST, 5.0)


async def test_a_server_that_hangs_is_left_in_time() -> None:
    async with linked(hang) as link:
        with pytest.raises(AnswerLate):
            await link.ask(REQUEST, 0.1)
        await eventually(lambda: len(link) == 0)


async def test_what_comes_after_an_answer_is_never_the_next_one() -> None:
    async with linked(saying(OK + OK.replace(b"ok", b"no"))) as link:
        assert (await link.ask(REQUEST, 5.0)).body == b"ok"
        await eventually(lambda: len(link) == 0)


async def test_a_connection_is_used_again_and_calls_beyond_the_bound_wait_for_one() -> None:
    async with talking(saying(*[OK] * 20)) as address:
        link = PrimaryLink(address, most=2)
        answers = await asyncio.gather(*(link.ask(REQUEST, 5.0) for _ in range(10)))
        assert [each.body for each in answers] == [b"ok"] * 10
        assert len(link) == 2
        link.close()


async def test_a_word_ahead_of_the_answer_is_passed_over() -> None:
    async with linked(saying(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)) as link:
        assert (await link.ask(REQUEST, 5.0)).status == 200


# The same through a secondary.


@asynccontextmanager
async def secondary_of(talk: Talk) -> AsyncIterator[OpenSite]:
    async with talking(talk) as address, open_secondary(SharedLease(address)) as opened:
        yield opened


@pytest.fixture(autouse=True)
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwarding, "PATIENCE_SECONDS", 0.3)
    monkeypatch.setattr(forwarding, "MOST_LOST", 1)


async def test_a_primary_that_hangs_or_talks_nonsense_is_told_of_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(to_primary, "COMMAND_SECONDS", 0.2)
    for talk in (hang, saying(b"nonsense")):
        async with secondary_of(talk) as opened:
            answer = await opened.browser.post("/api/v1/runs")
            assert answer.status_code == 503
            assert "primary" in answer.json()["error"]


async def test_calls_are_taken_back_from_a_primary_that_hangs_when_another_has_taken_over() -> None:
    async with talking(hang) as old, talking(saying(OK)) as new:
        lease = SharedLease(old)
        async with open_secondary(lease) as opened:
            call = asyncio.ensure_future(opened.browser.post("/api/v1/runs"))
            await eventually(lambda: opened.parts.forwarder.stats().connections == 1)
            await asyncio.sleep(0.1)
            lease.pass_to(new)
            assert (await call).text == "ok"
            assert opened.parts.forwarder.stats().repeated == 1


def stepping_down(seconds: float) -> Talk:
    """It works on each call for so long and decides nothing."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(seconds)
            writer.write(UNDECIDED)

    return talk


async def test_a_command_that_ran_for_long_at_one_that_stepped_down_is_sent_to_the_next() -> None:
    """For longer than a primary is looked for."""
    async with talking(stepping_down(0.5)) as old, talking(saying(OK)) as new:
        lease = SharedLease(old)
        async with open_secondary(lease) as opened:
            call = asyncio.ensure_future(opened.browser.post("/api/v1/runs"))
            await asyncio.sleep(0.4)
            lease.pass_to(new)
            assert (await call).text == "ok"


@pytest.mark.parametrize("seconds", [0.0, 0.05])
async def test_a_primary_that_never_decides_anything_is_given_up(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(to_primary, "COMMAND_SECONDS", 0.5)
    async with secondary_of(stepping_down(seconds)) as opened:
        assert (await opened.browser.post("/api/v1/runs")).status_code == 503


async def test_a_command_that_did_not_come_whole_is_not_sent_on() -> None:
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read())

    async with secondary_of(listen) as opened, served(opened.app, opened.parts) as address:
        place = address.removeprefix("http://").split(":")
        _, writer = await asyncio.open_connection(place[0], int(place[1]))
        head = b"POST /api/v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n"
        writer.write(head + b"cookie: a=b\r\n\r\n{}")
        await writer.drain()
        await asyncio.sleep(0.1)
        writer.close()
        await asyncio.sleep(0.2)
        assert opened.parts.forwarder.stats().sent == 0
    assert b"".join(heard) == b""


async def test_one_request_never_becomes_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths that contradict one another, and bodies that look like requests."""
    monkeypatch.setattr(logging.getLogger("uvicorn.error"), "disabled", True)
    heard = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            heard.extend(data)
            writer.write(OK)

    hidden = b"POST /api/v1/runs/x/delete HTTP/1.1\r\nhost: localhost\r\n\r\n"
    chunked = b"%x\r\n%b\r\n0\r\n\r\n" % (len(hidden), hidden)
    lengths = (
        b"content-length: 4\r\ntransfer-encoding: chunked\r\n",
        b"transfer-encoding: chunked\r\n",
        b"transfer-encoding: chunked\r\ntransfer-encoding: identity\r\n",
        b"content-length: 4\r\ncontent-length: 9\r\n",
    )
    async with secondary_of(listen) as opened, served(opened.app, opened.parts) as address:
        place = address.removeprefix("http://").split(":")
        for each in lengths:
            reader, writer = await asyncio.open_connection(place[0], int(place[1]))
            writer.write(b"POST /api/v1/runs HTTP/1.1\r\nhost: localhost\r\n" + each + b"\r\n")
            writer.write(chunked)
            await asyncio.sleep(0.1)
            writer.close()
            await reader.read()
    # Only the plain one may have been sent on: with its own length, and the rest as its body.
    assert heard.count(b"HTTP/1.1\r\nhost") <= 2 * heard.count(b"x-rookery-forwarded")
    assert b"transfer-encoding" not in heard
    assert bytes(heard).count(b"content-length: %d\r\n" % len(hidden)) == heard.count(hidden)
