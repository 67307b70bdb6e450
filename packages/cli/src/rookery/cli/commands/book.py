"""`rookery book`: the opening books of a server, and those that OpenBench's files describe."""

import hashlib
import io
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from rookery.core.client.logins import THE_SERVER, ServerFlags
from rookery.core.command import BadArgument, Column, command_group, if_known, option, print_json
from rookery.core.http_client import HttpClient
from rookery.core.http_failures import CallFailed, CallRefused
from rookery.core.http_places import is_web_address
from rookery.core.protocol import v1

book = command_group(
    "book",
    "Add, list, remove or import the opening books of a server.",
    """\
  rookery book add openings.epd
  rookery book list --all""",
)


@book.command
def add(
    file: Annotated[Path, option("a book in EPD or PGN")],
    /,
    *,
    name: Annotated[str, option("name of the book (default: the file's)", "NAME")] = "",
    server: ServerFlags = THE_SERVER,
) -> None:
    """Upload a book to a server."""
    if not file.is_file():
        raise BadArgument(f"There is no file {file}.")
    taken = server.client.put_book(name or file.name, file)
    server.tell(taken, f"Uploaded {taken.name}: {taken.openings:,} openings.")


@book.command(name="list")
def list_books(
    *,
    all_books: Annotated[bool, option("official books too", name="--all")] = False,
    server: ServerFlags = THE_SERVER,
) -> None:
    """List the uploaded books of a server."""
    found = server.client.books()
    columns: list[Column] = [
        ("name", "{.name}"),
        ("openings", "{.openings:,}"),
        ("bytes", if_known("size", "{:,}")),
        ("given by", if_known("user", otherwise="official")),
    ]
    server.print_table(found, [each for each in found.books if each.kept or all_books], columns)


@book.command
def remove(
    name: Annotated[str, option("as `rookery book list` shows it")],
    /,
    *,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Remove a book from a server."""
    removed = server.client.remove_book(name)
    server.tell(removed, f"Removed {removed.name}.")


@book.command(name="import")
def import_from_openbench(
    files: Annotated[
        list[Path], option("OpenBench's NAME.epd.json or books.json, or a folder of them")
    ],
    /,
    *,
    server: ServerFlags = THE_SERVER,
) -> int:
    """Upload the books that OpenBench's files describe."""
    found = import_books(files, server.client.put_book)
    if server.json:
        print_json(found)
    else:
        for taken in found.taken:
            print(f"{taken.name}: {taken.openings:,} openings.")
        for sentence in found.not_mapped:
            print(f"Not imported: {sentence}")
    return 0 if found.taken or not found.not_mapped else 1


# Books that OpenBench's files describe by a hash and an address: downloaded, checked and uploaded.

Give = Callable[[str, Path], v1.BookEntry]
SECONDS = 60.0
LARGEST = 2**30
KNOWN = frozenset({"name", "sha", "source"})
ENDINGS = (".epd", ".pgn")


class BookImport(msgspec.Struct, frozen=True):
    """The imported books, and a sentence for each one that was not imported."""

    taken: list[v1.BookEntry] = msgspec.field(default_factory=list)
    not_mapped: list[str] = msgspec.field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Described:
    """A book as a file describes it. `beside` is the folder of that file, which may have a copy of
    the book."""

    name: str
    fields: dict[str, object]
    beside: Path

    def text(self, field: str) -> str:
        return str(self.fields.get(field, ""))


class NotTaken(Exception):
    """A book that could not be fetched or checked; the message says why."""


def import_books(files: Sequence[Path], give: Give) -> BookImport:
    """Import each book independently, so that a failure does not stop the others. Raises
    BadArgument."""
    found = BookImport()
    for described in [each for file in files for each in _described(file)]:
        extra = sorted(described.fields.keys() - KNOWN)
        found.not_mapped.extend(f"{described.name}: the field {field}." for field in extra)
        try:
            found.taken.append(_taken(described, give))
        except (NotTaken, CallRefused) as problem:
            found.not_mapped.append(f"{described.name}: {problem}")
    return found


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
        raise BadArgument(f"{file} is not a JSON file that describes books.") from None
    if KNOWN & found.keys():
        name = str(found.get("name") or file.name.removesuffix(".json"))
        yield Described(name, found, file.parent)
        return
    for name, fields in found.items():
        if not isinstance(fields, dict):
            raise BadArgument(f"{file}: {name} does not describe a book.")
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
    """Return the content of a book, from a file beside its description or from its address."""
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
