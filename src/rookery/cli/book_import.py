"""OpenBench's descriptions of books: a hash and an address each, fetched, checked and passed on."""

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from rookery.errors import Complaint
from rookery.http_client import CallFailed, CallRefused, HttpClient, is_web_address
from rookery.protocol import v1

Give = Callable[[str, Path], v1.BookEntry]
SECONDS = 60.0
LARGEST = 2**30
KNOWN = frozenset({"name", "sha", "source"})
ENDINGS = (".epd", ".pgn")


class BadDescription(Complaint):
    """A file describes no books."""

    exit_code = 2


class Outcome(msgspec.Struct, frozen=True):
    """What was taken over, and a sentence for each thing that was not."""

    taken: list[v1.BookEntry] = msgspec.field(default_factory=list)
    not_mapped: list[str] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Described:
    """One book; `beside` is the folder in which a copy may lie already."""

    name: str
    fields: dict[str, object]
    beside: Path

    def text(self, field: str) -> str:
        return str(self.fields.get(field, ""))


class NotTaken(Exception):
    """Why one book could not be had."""


def import_books(files: Sequence[Path], give: Give) -> Outcome:
    """Each book by itself: one that fails keeps no other one back. Raises BadDescription."""
    outcome = Outcome()
    for book in [each for file in files for each in _described(file)]:
        extra = sorted(book.fields.keys() - KNOWN)
        outcome.not_mapped.extend(f"{book.name}: the field {field}." for field in extra)
        try:
            outcome.taken.append(_taken(book, give))
        except (NotTaken, CallRefused) as problem:
            outcome.not_mapped.append(f"{book.name}: {problem}")
    return outcome


def _taken(book: Described, give: Give) -> v1.BookEntry:
    with tempfile.TemporaryDirectory() as folder:
        data = _unpacked(book)
        if not book.text("sha"):
            raise NotTaken("there is no hash to check it by.")
        if book.text("sha") not in (_sha(data), _sha(_with_line_feeds(data))):
            raise NotTaken("what was fetched has another hash.")
        file = Path(folder) / "book"
        file.write_bytes(data)
        return give(book.name, file)


def _described(file: Path) -> Iterator[Described]:
    if file.is_dir():
        for each in sorted(file.glob("*.json")):
            yield from _described(each)
        return
    try:
        found = msgspec.json.decode(file.read_bytes(), type=dict[str, object])
    except (OSError, msgspec.MsgspecError):
        raise BadDescription(f"{file} is not a JSON file that describes books.") from None
    if KNOWN & found.keys():
        name = str(found.get("name") or file.name.removesuffix(".json"))
        yield Described(name, found, file.parent)
        return
    for name, fields in found.items():
        if not isinstance(fields, dict):
            raise BadDescription(f"{file}: {name} is no description of a book.")
        yield Described(str(fields.get("name") or name), fields, file.parent)


def _unpacked(book: Described) -> bytes:
    data = _fetched(book)
    if not zipfile.is_zipfile(io.BytesIO(data)):
        return data
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as pack:
            inside = [name for name in pack.namelist() if name.endswith(ENDINGS)]
            if not inside:
                raise NotTaken("there is no book in the archive.")
            with pack.open(inside[0]) as file:
                return _bounded(file.read(LARGEST + 1))
    except (zipfile.BadZipFile, OSError) as error:
        raise NotTaken(f"the archive is damaged ({error}).") from None


def _fetched(book: Described) -> bytes:
    """A copy that lies beside the description spares the way."""
    for name in (book.name, f"{book.name}.zip"):
        if Path(name).name == name and (book.beside / name).is_file():
            return (book.beside / name).read_bytes()
    source = book.text("source")
    if not is_web_address(source):
        raise NotTaken("it has no address to be fetched from.")
    try:
        with HttpClient(SECONDS).follow(source, most_bytes=LARGEST) as stream:
            return stream.read()
    except CallFailed as failed:
        raise NotTaken(str(failed)) from None


def _bounded(data: bytes) -> bytes:
    if len(data) > LARGEST:
        raise NotTaken("it is too large.")
    return data


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _with_line_feeds(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
