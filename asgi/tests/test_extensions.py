"""Files that the kernel sends, trailers and early hints, without sockets."""

import os
from pathlib import Path
from typing import Any

import pytest

from rookery_asgi.types import Message, Receive, Scope, Send
from tests.machine import GET, Machine, answer, body_of, play, settle, status_of

TEXT = b"0123456789"
HEAD = GET.replace(b"GET", b"HEAD")
OLD = b"GET / HTTP/1.0\r\n\r\n"


class Sends:
    """An application that sends messages, and keeps what was raised."""

    def __init__(self, *messages: Message, **start: Any) -> None:
        self.raised: list[Exception] = []
        self._messages: list[Message] = [
            {"type": "http.response.start", "status": 200, "headers": [], **start},
            *messages,
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        for message in self._messages:
            try:
                await send(message)
            except (RuntimeError, OSError, TypeError, ValueError) as error:
                self.raised.append(error)
                raise


def said(app: Sends, request: bytes = GET) -> bytes:
    found: list[bytes] = []

    async def story() -> None:
        machine = Machine(app)
        await machine.feed(request)
        while more := machine.conn.take():
            found.append(more)
            await settle()

    play(story)
    return b"".join(found)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "file"
    file.write_bytes(TEXT)
    return file


def whole(path: Path | str) -> Message:
    return {"type": "http.response.pathsend", "path": str(path)}


def part(file: Any, **more: Any) -> Message:
    return {"type": "http.response.zerocopysend", "file": file, **more}


def is_open(path: Path) -> bool:
    """Whether this process has the file, or one in the folder, open."""
    links = [fd.readlink() for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink()]
    return any(link.is_relative_to(path) for link in links)


# --- paths


def test_a_path_is_the_whole_body(path: Path) -> None:
    answered = said(Sends(whole(path)))
    assert b"content-length: 10\r\n" in answered
    assert body_of(answered) == TEXT
    assert not is_open(path)


def test_a_request_behind_a_file_is_answered_after_it(path: Path) -> None:
    answered = said(Sends(whole(path)), GET * 3)
    assert answered.count(TEXT) == answered.count(b"HTTP/1.1 200 OK") == 3


def test_a_head_request_gets_the_length_of_the_file_alone(path: Path) -> None:
    answered = said(Sends(whole(path)), HEAD)
    assert b"content-length: 10\r\n" in answered
    assert body_of(answered) == b""


def test_an_empty_file_is_an_empty_body(path: Path) -> None:
    path.write_bytes(b"")
    assert b"content-length: 0\r\n" in said(Sends(whole(path)))


def test_a_file_that_has_grown_is_sent_as_far_as_was_declared(path: Path) -> None:
    answered = said(Sends(whole(path), headers=[(b"content-length", b"4")]))
    assert body_of(answered) == b"0123"


def test_a_file_that_is_shorter_than_declared_is_a_500(path: Path) -> None:
    app = Sends(whole(path), headers=[(b"content-length", b"11")])
    assert status_of(said(app)) == 500
    assert not is_open(path)


def test_what_has_no_body_gets_none_of_a_file(path: Path) -> None:
    answered = said(Sends(whole(path), status=304))
    assert body_of(answered) == b""


@pytest.mark.parametrize("name", ["nothing", ".", "pipe"])
def test_what_is_no_file_is_a_500(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    app = Sends(whole(tmp_path / name))
    assert status_of(said(app)) == 500
    assert len(app.raised) == 1
    assert not is_open(tmp_path)


def test_a_path_has_no_second_one_behind_it(path: Path) -> None:
    app = Sends(whole(path), whole(path))
    assert body_of(said(app)) == TEXT
    assert "already ended" in str(app.raised)


def test_a_path_is_not_sent_behind_a_body(path: Path) -> None:
    body = {"type": "http.response.body", "body": b"x", "more_body": True}
    app = Sends(body, whole(path))
    said(app)
    assert "the whole body" in str(app.raised)


# --- descriptors


def test_parts_of_a_file_are_chunks_beside_others(path: Path) -> None:
    with path.open("rb") as file:
        app = Sends(
            part(file, offset=2, count=3, more_body=True),
            {"type": "http.response.body", "body": b"abc", "more_body": True},
            part(file.fileno(), offset=8, count=100),
        )
        assert body_of(said(app)) == b"3\r\n234\r\n3\r\nabc\r\n2\r\n89\r\n0\r\n\r\n"


def test_without_an_offset_a_file_goes_on_where_it_stands(path: Path) -> None:
    with path.open("rb") as file:
        file.seek(1)
        app = Sends(part(file, count=2, more_body=True), part(file))
        length = [(b"content-length", b"9")]
        app._messages[0]["headers"] = length
        assert body_of(said(app)) == b"123456789"
        assert file.tell() == 10


def test_the_application_may_close_its_file_at_once(path: Path) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        with path.open("rb") as file:
            await send(part(file))

    async def story() -> None:
        machine = Machine(app)
        await machine.feed(GET)
        assert body_of(machine.conn.take()) == TEXT

    play(story)


@pytest.mark.parametrize("wrong", [{"offset": -1}, {"count": -1}, {"file": -1}, {"file": "x"}])
def test_a_part_that_can_not_be_is_a_500(wrong: dict[str, Any], path: Path) -> None:
    with path.open("rb") as file:
        app = Sends({**part(file), **wrong})
        assert status_of(said(app)) == 500
    assert not is_open(path)


def test_a_part_behind_the_end_is_empty(path: Path) -> None:
    with path.open("rb") as file:
        assert b"content-length: 0\r\n" in said(Sends(part(file, offset=100)))


def test_a_client_that_is_lost_leaves_no_file_open(path: Path) -> None:

    async def story() -> None:
        machine = Machine(Sends(whole(path)))
        await machine.feed(GET)
        assert is_open(path)
        machine.conn.abort()

    play(story)
    assert not is_open(path)


# --- trailers

FIELDS = [(b"x-sum", b"1"), (b"x-more", b"2")]


def trailers(*fields: tuple[bytes, bytes], more: bool = False) -> Message:
    return {"type": "http.response.trailers", "headers": list(fields), "more_trailers": more}


BODY = {"type": "http.response.body", "body": b"abc"}
MORE = {**BODY, "more_body": True}


@pytest.mark.parametrize("bodies", [[BODY], [MORE, {"type": "http.response.body"}]])
def test_trailers_follow_the_last_chunk(bodies: list[Message]) -> None:
    app = Sends(*bodies, trailers(FIELDS[0], more=True), trailers(FIELDS[1]), trailers=True)
    assert said(app, GET * 2).count(b"3\r\nabc\r\n0\r\nx-sum: 1\r\nx-more: 2\r\n\r\n") == 2


def test_trailers_follow_a_file(path: Path) -> None:
    answered = said(Sends(whole(path), trailers(*FIELDS), trailers=True))
    assert body_of(answered) == b"a\r\n" + TEXT + b"\r\n0\r\nx-sum: 1\r\nx-more: 2\r\n\r\n"


@pytest.mark.parametrize(
    ("request_", "start"),
    [
        (GET, {"headers": [(b"content-length", b"3")]}),
        (OLD, {}),
        (HEAD, {}),
        (GET, {"status": 304}),
    ],
)
def test_where_nothing_is_chunked_trailers_are_left_out(
    request_: bytes, start: dict[str, Any]
) -> None:
    app = Sends(BODY, trailers(*FIELDS), trailers=True, **start)
    answered = said(app, request_)
    assert answered.endswith((b"\r\n\r\nabc", b"\r\n\r\n"))
    assert b"x-sum" not in answered
    assert app.raised == []


def test_trailers_that_were_promised_and_not_sent_cut_the_response() -> None:
    app = Sends(BODY, trailers=True)

    async def story() -> None:
        machine = Machine(app)
        await machine.feed(GET)
        assert not machine.conn.open
        assert "did not finish" in str(machine.hooks.failures)

    play(story)


@pytest.mark.parametrize(
    "messages", [[BODY, trailers()], [trailers()], [{**MORE}, trailers()]], ids=range(3)
)
def test_trailers_in_the_wrong_place_are_refused(messages: list[Message]) -> None:
    app = Sends(*messages)
    said(app)
    assert "not promised" in str(app.raised)


@pytest.mark.parametrize("name", [b"Content-Length", b"transfer-encoding", b"trailer", b"a b"])
def test_a_trailer_can_not_frame_the_message(name: bytes) -> None:
    tried: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "trailers": True})
        await send(BODY)
        try:
            await send(trailers(FIELDS[0], (name, b"1")))
        except RuntimeError as error:
            tried.append(str(error))
        await send(trailers(FIELDS[1]))

    async def story() -> None:
        machine = Machine(app)
        await machine.feed(GET)
        assert machine.conn.take().endswith(b"0\r\nx-more: 2\r\n\r\n")

    play(story)
    assert len(tried) == 1


# --- early hints


def hint(*links: bytes) -> Message:
    return {"type": "http.response.early_hint", "links": list(links)}


async def hinted(scope: Scope, receive: Receive, send: Send) -> None:
    await send(hint(b"</a.css>; rel=preload", b"</b.js>"))
    await answer(send, b"hello")


def test_hints_come_before_the_response() -> None:
    async def story() -> None:
        machine = Machine(hinted)
        answered = await machine.ask(GET)
        first, _, rest = answered.partition(b"\r\n\r\n")
        assert first == (
            b"HTTP/1.1 103 Early Hints\r\nlink: </a.css>; rel=preload\r\nlink: </b.js>"
        )
        assert status_of(rest) == 200
        assert body_of(await machine.ask(GET)).endswith(b"hello")

    play(story)


def test_an_old_client_gets_no_hints() -> None:
    async def story() -> None:
        assert status_of(await Machine(hinted).ask(OLD)) == 200

    play(story)


@pytest.mark.parametrize("message", [hint(b"a\r\nb"), {"type": "http.response.early_hint"}])
def test_hints_that_can_not_be_are_refused(message: Message) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        with pytest.raises(RuntimeError):
            await send(message)
        await answer(send, b"hello")

    async def story() -> None:
        assert status_of(await Machine(app).ask(GET)) == 200

    play(story)


def test_hints_after_the_start_are_refused() -> None:
    app = Sends(hint(b"a"))
    assert status_of(said(app)) == 500
    assert "before the response" in str(app.raised)


def test_an_old_client_is_offered_files_alone() -> None:
    seen: list[set[str]] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(set(scope["extensions"]))
        await answer(send)

    async def story() -> None:
        await Machine(app).feed(OLD)

    play(story)
    assert seen == [{"http.response.pathsend", "http.response.zerocopysend"}]
