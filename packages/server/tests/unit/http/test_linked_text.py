"""Addresses in people's texts."""

import pytest

from rookery.server.http.pages.linked_text import split_links


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("see https://example.org/a?b=1#c.", "https://example.org/a?b=1#c"),
        ("(https://example.org)", "https://example.org"),
        ("https://example.org/Elo_(chess)", "https://example.org/Elo_(chess)"),
        ("(as https://example.org/Elo_(chess))", "https://example.org/Elo_(chess)"),
        ('"HTTP://Example.org/x",', "HTTP://Example.org/x"),
    ],
)
def test_an_address_is_linked_without_what_stands_around_it(text: str, address: str) -> None:
    pieces = split_links(text)
    assert [piece.address for piece in pieces if piece.address] == [address]
    assert "".join(piece.text for piece in pieces) == text


@pytest.mark.parametrize(
    "text", ["javascript:alert(1)", "data:text/html,x", "https://", "xhttps://example.org", "a.b"]
)
def test_nothing_else_is_linked(text: str) -> None:
    (piece,) = split_links(text)
    assert (piece.text, piece.address) == (text, "")


def test_a_text_keeps_its_lines() -> None:
    pieces = split_links("one\n\ntwo https://a.example\nthree")
    assert [piece.text for piece in pieces] == ["one\n\ntwo ", "https://a.example", "\nthree"]
