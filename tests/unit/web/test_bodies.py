"""JSON bodies become typed values or named faults."""

import anyio
import msgspec
import pytest
from starlette.types import Message

from rookery.web.bodies import decode, read_body
from rookery.web.faults import BodyTooSlow, InvalidBody, MalformedJson


class Cat(msgspec.Struct):
    name: str


def test_a_body_becomes_a_value() -> None:
    assert decode(b'{"name": "Tom", "unknown": 1}', Cat) == Cat("Tom")


@pytest.mark.parametrize("body", [b"", b"{", b'{"name": "\xff"}', b'{"x":' + b"[" * 100_000, b"\0"])
def test_what_is_no_json_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedJson):
        decode(body, Cat)


def test_json_of_another_form_is_told_what_is_wrong_where() -> None:
    with pytest.raises(InvalidBody, match=r"Expected `str`, got `int` - at `\$\.name`\."):
        decode(b'{"name": 1}', Cat)


@pytest.mark.anyio
async def test_a_body_in_pieces_is_put_together() -> None:
    pieces: list[Message] = [
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"c"},
    ]

    async def receive() -> Message:
        return pieces.pop(0)

    assert await read_body(receive) == b"abc"


@pytest.mark.anyio
async def test_a_body_that_never_comes_is_not_waited_for() -> None:
    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    with pytest.raises(BodyTooSlow):
        await read_body(never, seconds=0.01)
