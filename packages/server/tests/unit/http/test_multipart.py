"""Forms with files, in pieces of every size."""

from collections.abc import AsyncIterator

import pytest

from rookery.server.http.faults import MalformedForm
from rookery.server.http.multipart import MultipartReader, find_boundary

pytestmark = pytest.mark.anyio

BOUNDARY = find_boundary('multipart/form-data; boundary="x-y"')
BODY = (
    b'--x-y\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\nabc\r\n'
    b'--x-y\r\nContent-Disposition: form-data; name="empty"\r\n\r\n\r\n'
    b'--x-y\r\nContent-Disposition: form-data; name="network"; filename="n.nnue"\r\n'
    b"Content-Type: application/octet-stream\r\n\r\nab\r\n--x-\r\n\r\nz\r\n--x-y--\r\n"
)


async def pieces(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


async def parts_of(body: bytes, size: int) -> list[tuple[str, str | None, bytes]]:
    reader, found = MultipartReader(BOUNDARY, pieces(body, size)), []
    while (part := await reader.next_part()) is not None:
        content = b"".join([piece async for piece in reader.read_content()])
        found.append((part.name, part.file_name, content))
    return found


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
async def test_parts_are_found_however_the_body_is_cut(size: int) -> None:
    assert await parts_of(BODY, size) == [
        ("csrf_token", None, b"abc"),
        ("empty", None, b""),
        ("network", "n.nnue", b"ab\r\n--x-\r\n\r\nz"),
    ]


async def test_a_part_that_is_not_read_is_passed_over() -> None:
    reader = MultipartReader(BOUNDARY, pieces(BODY, 5))
    await reader.next_part()
    await reader.next_part()
    part = await reader.next_part()
    assert part is not None
    assert part.name == "network"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        BODY[:-20],
        b"--x-y\r\nContent-Disposition: form-data\r\n\r\nabc\r\n--x-y--",
        b"--x-y\r\n" + b"a" * 20_000,
        b"--x-yz\r\n",
    ],
)
async def test_what_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedForm):
        await parts_of(body, 100)
