"""What is taken as a document."""

import pytest

from rookery.server.ask.uploads import UploadReader
from rookery.server.files.store import FileRefused
from rookery.server.http.limits import LARGEST_DOCUMENT


def fed(name: str, *pieces: bytes) -> str:
    reader = UploadReader(name)
    for piece in pieces:
        reader.feed(piece)
    reader.finish()
    return reader.format


@pytest.mark.parametrize(
    ("name", "content", "format_"),
    [
        ("notes.txt", b"words", "text"),
        ("notes.md", b"# words", "markdown"),
        ("notes.md", b"%PDF-1.7 whatever its name", "pdf"),
    ],
)
def test_a_document_is_known_by_its_bytes_and_name(name: str, content: bytes, format_: str) -> None:
    assert fed(name, content) == format_


def test_a_character_may_lie_on_the_border_of_pieces() -> None:
    text = "größer".encode()
    assert fed("a.txt", text[:3], text[3:]) == "text"


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00a", b"a\0b", "ö".encode()[:1]])
def test_what_is_no_text_is_refused(content: bytes) -> None:
    with pytest.raises(FileRefused):
        fed("a.txt", content)


def test_a_document_has_a_largest_size() -> None:
    reader = UploadReader("a.txt")
    reader.feed(b"a" * LARGEST_DOCUMENT)
    with pytest.raises(FileRefused):
        reader.feed(b"a")
