"""A book's text out of its file: plain, .gz or .zip, with every line ending in a line feed."""

import base64
import gzip
import hashlib
import zipfile
import zlib
from enum import Enum
from pathlib import Path, PurePath

from rookery.worker.openings.faults import UnknownFormat, UnreadableBook

LARGEST_BOOK = 1 << 30
"""A packed book may not grow beyond this many bytes."""


class Format(Enum):
    EPD = ".epd"
    PGN = ".pgn"


def read(path: Path) -> tuple[Format, bytes]:
    """The format and the text of a book file; raises a BookFault."""
    try:
        return _unpacked(path)
    except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
        why = (isinstance(error, OSError) and error.strerror) or error
        raise UnreadableBook(name=path.name, why=why) from error


def sri(text: bytes) -> str:
    """What a task names a book by: SHA-384 over the text with line feeds, in base64."""
    return base64.b64encode(hashlib.sha384(_with_line_feeds(text)).digest()).decode()


def _unpacked(path: Path) -> tuple[Format, bytes]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as pack:
            member = _member(path, pack)
            with pack.open(member) as file:
                return _format(member), _with_line_feeds(
                    _bounded(path, file.read(LARGEST_BOOK + 1))
                )
    if path.suffix == ".gz":
        with gzip.open(path) as file:
            return _format(path.stem), _with_line_feeds(_bounded(path, file.read(LARGEST_BOOK + 1)))
    return _format(path.name), _with_line_feeds(path.read_bytes())


def _member(path: Path, pack: zipfile.ZipFile) -> str:
    """The one book in a .zip; a file named like the .zip itself comes first."""
    books = [name for name in pack.namelist() if PurePath(name).suffix in (".epd", ".pgn")]
    books.sort(key=lambda name: (PurePath(name).stem != PurePath(path.stem).stem, name))
    if not books:
        raise UnknownFormat(name=path.name)
    return books[0]


def _format(name: str) -> Format:
    try:
        return Format(PurePath(name).suffix)
    except ValueError:
        raise UnknownFormat(name=name) from None


def _bounded(path: Path, text: bytes) -> bytes:
    if len(text) > LARGEST_BOOK:
        raise UnreadableBook(name=path.name, why=f"it unpacks to more than {LARGEST_BOOK} bytes")
    return text


def _with_line_feeds(text: bytes) -> bytes:
    if b"\r" not in text:
        return text
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
