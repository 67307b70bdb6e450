"""Assets are found by addresses that change with their content."""

import gzip

import pytest

from rookery.server.http.rendering import Assets


def test_an_asset_is_found_at_its_address_with_its_type() -> None:
    assets = Assets({"a.css": b"x"})
    found = assets.at(assets.address("a.css"))
    assert found is not None
    assert (found.content, found.media_type) == (b"x", "text/css; charset=utf-8")


def test_other_content_has_another_address() -> None:
    assert Assets({"a.css": b"x"}).address("a.css") != Assets({"a.css": b"y"}).address("a.css")


@pytest.mark.parametrize("path", ["/static/a.css", "/static/000000000000/a.css", "/static/../x"])
def test_nothing_else_is_found(path: str) -> None:
    assert Assets({"a.css": b"x"}).at(path) is None


def test_what_is_fetched_later_joins_the_others() -> None:
    assets = Assets({"a.css": b"x"})
    assert not assets.has("b.js")
    assets.add({"b.js": b"y" * 1000})
    found = assets.at(assets.address("b.js"))
    assert found is not None
    assert gzip.decompress(found.packed) == found.content
    assert assets.has("a.css")
