"""OpenBench's books: taken over one by one, with a sentence for each that is not."""

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from rookery.cli.commands.book import import_books
from rookery.core.command import BadArgument
from rookery.core.protocol import v1

TEXT = b"line\r\nline\r\n"
SHA = hashlib.sha256(TEXT.replace(b"\r\n", b"\n")).hexdigest()


def taken_by(given: dict[str, bytes], name: str, file: Path) -> v1.BookEntry:
    given[name] = file.read_bytes()
    return v1.BookEntry(name=name, openings=2, sri="", official=False, kept=True)


def describe(folder: Path, name: str, **fields: str) -> Path:
    file = folder / f"{name}.json"
    file.write_text(json.dumps({"sha": SHA, "source": f"ftp://nowhere/{name}", **fields}))
    return file


def test_a_packed_book_beside_its_description_is_taken(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.epd.zip", "w") as pack:
        pack.writestr("a.epd", TEXT)
    given: dict[str, bytes] = {}
    outcome = import_books(
        [describe(tmp_path, "a.epd")], lambda name, file: taken_by(given, name, file)
    )
    assert (given, outcome.not_mapped) == ({"a.epd": TEXT}, [])


def test_what_cannot_be_had_is_told_and_keeps_no_other_one_back(tmp_path: Path) -> None:
    for name in ("a.epd", "b.epd", "d.epd"):
        (tmp_path / name).write_bytes(TEXT)
    describe(tmp_path, "a.epd", sha="0" * 64)
    describe(tmp_path, "b.epd", colour="green")
    describe(tmp_path, "c.epd")
    describe(tmp_path, "d.epd", sha="")
    given: dict[str, bytes] = {}
    outcome = import_books([tmp_path], lambda name, file: taken_by(given, name, file))
    assert list(given) == ["b.epd"]
    assert outcome.not_mapped == [
        "a.epd: what was fetched has another hash.",
        "b.epd: the field colour.",
        "c.epd: it has no address to be fetched from.",
        "d.epd: there is no hash to check it by.",
    ]


def test_the_older_single_file_is_read_too(tmp_path: Path) -> None:
    (tmp_path / "x.epd").write_bytes(TEXT)
    file = tmp_path / "books.json"
    file.write_text(json.dumps({"x.epd": {"name": "x.epd", "sha": SHA, "source": ""}}))
    given: dict[str, bytes] = {}
    import_books([file], lambda name, file: taken_by(given, name, file))
    assert list(given) == ["x.epd"]


@pytest.mark.parametrize("text", ["[]", "nonsense", '{"x": 1}'])
def test_what_describes_no_book_is_told(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(BadArgument):
        import_books([file, tmp_path / "nothing"], lambda name, file: taken_by({}, name, file))
