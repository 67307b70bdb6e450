"""Answers by gzip, for those who take it."""

import gzip

import pytest

from rookery.server.http.packing import pack, takes_gzip
from tests.twins.sites import open_site
from tests.wire.slow_routes import slow_routes

pytestmark = pytest.mark.anyio
PLAIN = {"accept-encoding": "identity"}


@pytest.mark.parametrize(
    ("text", "taken"),
    [
        ("gzip, deflate, br", True),
        ("br;q=1.0, GZIP;q=0.8, *;q=0.1", True),
        ("*", True),
        ("", False),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
    ],
)
def test_gzip_is_sent_to_those_alone_who_take_it(text: str, *, taken: bool) -> None:
    assert takes_gzip(text) == taken


def test_what_is_packed_can_be_unpacked() -> None:
    assert gzip.decompress(pack(b"rook" * 999)) == b"rook" * 999


@pytest.mark.parametrize("path", ["/", "/live", "/login", "/nowhere", "/openapi.json", "/metrics"])
async def test_an_answer_is_the_same_packed_or_not(path: str) -> None:
    async with open_site() as site:
        packed, plain = await site.browser.get(path), await site.browser.get(path, headers=PLAIN)
        assert packed.headers["content-encoding"] == "gzip"
        assert "accept-encoding" in packed.headers["vary"]
        assert "content-encoding" not in plain.headers
        assert int(packed.headers["content-length"]) < int(plain.headers["content-length"]) / 2
        assert packed.text[:15] == plain.text[:15]


async def test_a_style_sheet_is_packed_once_for_all() -> None:
    async with open_site() as site:
        address = site.parts.assets.address("rookery.css")
        packed, plain = (
            await site.browser.get(address),
            await site.browser.get(address, headers=PLAIN),
        )
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.content == plain.content


async def test_a_stream_and_a_small_answer_are_sent_as_they_are() -> None:
    async with open_site(None, *slow_routes()) as site:
        for path in ("/slow/ticks", "/healthz"):
            head = await site.browser.head(path)
            assert "content-encoding" not in head.headers
