"""PDF files, read by a child process that trusts nothing in them."""

import zlib
from pathlib import Path

import pytest

from rookery.server.ask.uploads import read_pdf
from rookery.server.files.store import FileRefused


def make_pdf(*objects: bytes, text: bytes = b"") -> bytes:
    """A page with a text, in the shortest form that readers take."""
    stream = b"BT /F1 12 Tf 72 720 Td (" + text + b") Tj ET"
    page = b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>"
    parts = objects or (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page,
        b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    )
    made, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(made))
        made += b"%d 0 obj%b endobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(parts) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n" % size
    tail = b"trailer\n<</Size %d /Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (size, len(made))
    return made + head + table + tail


def read(content: bytes, tmp_path: Path, seconds: float = 60.0) -> str:
    path = tmp_path / "x.pdf"
    path.write_bytes(content)
    with path.open("rb") as file:
        return read_pdf(file, seconds)


def test_the_text_of_a_pdf_is_read(tmp_path: Path) -> None:
    assert read(make_pdf(text=b"Razoring at low depth"), tmp_path) == "Razoring at low depth"


def test_a_pdf_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="no text"):
        read(make_pdf(text=b""), tmp_path)


def test_what_only_begins_like_a_pdf_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="can't be read"):
        read(b"%PDF-1.4\nnothing of the kind", tmp_path)


def test_a_pdf_that_unpacks_to_very_much_is_refused(tmp_path: Path) -> None:
    bomb = zlib.compress(zlib.compress(b" " * 100_000_000, 9))
    stream = b"<</Length %d/Filter[/FlateDecode/FlateDecode]>>stream\n%b\nendstream"
    parts = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>",
        stream % (len(bomb), bomb),
    )
    with pytest.raises(FileRefused):
        read(make_pdf(*parts), tmp_path)


def test_a_pdf_whose_pages_contain_themselves_is_refused(tmp_path: Path) -> None:
    parts = (b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9999999>>")
    with pytest.raises(FileRefused):
        read(make_pdf(*parts), tmp_path)


def test_reading_ends_at_its_time_limit(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="too long"):
        read(make_pdf(text=b"words"), tmp_path, seconds=0.001)
