"""The head of a large body is read once, and its long text in pieces of any size."""

import gzip
import json
import time
from base64 import b64encode

import pytest

from rookery.core.protocol.codec import BadField, NotAnObject, NotJson, TooLarge, WireFault
from rookery.core.protocol.worker_heads import (
    HEAD_BYTES,
    LongText,
    begin_long_text,
    scan_head,
)

GAMES = gzip.compress(bytes(range(256)) * 40, 0)
TEXT = b64encode(GAMES)
INFO = {"uname": "Linux", "architecture": ["64bit", "ELF"], "username": "wanda", "tools": {"a": {}}}


def body(**fields: object) -> bytes:
    """As an official worker sends it."""
    said = {"password": 'a "quoted" \\ word', "message": "", "worker_info": INFO, **fields}
    return json.dumps(said).encode()


def test_the_credentials_of_an_official_worker_are_found_in_the_head() -> None:
    found = scan_head(body(pgn="H4sI" * 50_000)[:HEAD_BYTES])
    said = found.read_credentials()
    assert (said.password, said.worker_info.user) == ('a "quoted" \\ word', "wanda")
    assert found.unfinished == "pgn"


def test_credentials_after_the_long_text_are_not_looked_for() -> None:
    with pytest.raises(WireFault, match="password and worker_info must"):
        scan_head((b'{"pgn": "' + TEXT * 20)[:HEAD_BYTES]).read_credentials()


@pytest.mark.parametrize("head", [b"", b"[", b'"', b"nonsense", b"\xff" * 100])
def test_what_is_no_object_is_refused(head: bytes) -> None:
    with pytest.raises(NotAnObject):
        scan_head(head)


@pytest.mark.parametrize(
    "head", [b'{"password" 1', b'{"a":{"b":[', b'{"a":"\\', b"{", b'{"a"', b'{"a":', b'{"a":1']
)
def test_a_head_that_ends_anywhere_names_no_caller(head: bytes) -> None:
    with pytest.raises(WireFault):
        scan_head(head).read_credentials()


@pytest.mark.parametrize("filling", [b"[", b'{"a":', b'["', b'"\\', b"1,", b'"a":1,', b" ", b'"'])
def test_no_filling_makes_a_head_slow(filling: bytes) -> None:
    """The steps are counted, so that a head of brackets costs no more than a head of words."""
    head, began = (b'{"worker_info":' + filling * HEAD_BYTES)[:HEAD_BYTES], time.thread_time()
    with pytest.raises(WireFault):
        scan_head(head).read_credentials()
    # It takes about a millisecond; what goes over the head again and again takes seconds.
    assert time.thread_time() - began < 1


def taken_apart(text: LongText, rest: bytes, step: int) -> bytes:
    pieces = (rest[at : at + step] for at in range(0, len(rest), step))
    return b"".join(text.feed(piece) for piece in pieces)


@pytest.mark.parametrize("step", [1, 2, 3, 5, 64, 1000, 100_000])
@pytest.mark.parametrize("slash", [b"/", b"\\/"])
def test_a_long_text_is_the_same_in_pieces_of_any_size(step: int, slash: bytes) -> None:
    whole = body(pgn="@", task_id=7).replace(b"@", TEXT.replace(b"/", slash))
    at = whole.index(b'"pgn": "') + len(b'"pgn": "')
    text = LongText("pgn", whole[:at], 10**6)
    assert taken_apart(text, whole[at:], step) == GAMES
    rest = json.loads(text.envelope())
    assert rest["task_id"] == 7
    assert TEXT.startswith(rest["pgn"].encode())
    assert text.size == len(GAMES)


@pytest.mark.parametrize("step", [1, 4, 7, 100])
@pytest.mark.parametrize("wrong", [b'AAA"', b'AA==AAAA"', b'AA==A"', b'A\\nAA"', b"====", b'\xff"'])
def test_what_is_no_base64_is_refused_wherever_it_is_cut(step: int, wrong: bytes) -> None:
    with pytest.raises(BadField, match="pgn: invalid base64"):
        taken_apart(LongText("pgn", b"", 1000), wrong + b"AAAA", step)


def test_a_text_that_does_not_end_is_no_body() -> None:
    text = LongText("pgn", b"{", 1000)
    text.feed(b"AAAA")
    with pytest.raises(NotJson):
        text.envelope()


def test_more_than_the_most_is_refused_while_it_comes() -> None:
    with pytest.raises(TooLarge):
        LongText("pgn", b"", 100).feed(TEXT)


def test_what_follows_a_long_text_is_short() -> None:
    text = LongText("pgn", b"", 100)
    text.feed(b'AAAA"')
    with pytest.raises(TooLarge):
        text.feed(b"," * (HEAD_BYTES + 1))


def test_only_the_text_that_is_asked_for_may_be_long() -> None:
    with pytest.raises(BadField, match=r"pgn: does not begin"):
        begin_long_text(body(message="x" * 100_000), "pgn", 1000)
