"""Bodies are put together from pieces, not waited for too long, and off the loop where large."""

import threading

import anyio
import pytest
from starlette.types import Message

from rookery.boundary.offload import Threads
from rookery.web.bodies import LARGE, decoded, read_body
from rookery.web.faults import BodyTooSlow


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


@pytest.mark.anyio
@pytest.mark.parametrize(("size", "stays"), [(LARGE, True), (LARGE + 1, False)])
async def test_a_large_body_is_read_in_a_thread(size: int, stays: bool) -> None:
    read_in = await decoded(bytes(size), lambda _body: threading.get_ident(), Threads())
    assert (read_in == threading.get_ident()) is stays
