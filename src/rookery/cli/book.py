"""`rookery book`: the opening books of a server."""

import argparse
from collections.abc import Callable
from pathlib import Path

from rookery.cli.arguments import Subcommands, table
from rookery.cli.book_import import import_books
from rookery.cli.calling import add_server_command, print_json, tell
from rookery.client.client import Client
from rookery.errors import Complaint
from rookery.protocol import v1

Work = Callable[[Client, argparse.Namespace], int]


class NoBook(Complaint):
    """There is no file to give."""

    exit_code = 2


EXAMPLES = """\
examples:

  rookery book add openings.epd
  rookery book list --all"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    adding = add_server_command(commands, "add", "give a book to a server", _give)
    adding.add_argument("file", type=Path, metavar="FILE", help="a book in EPD or PGN")
    adding.add_argument("--name", default="", help="another name than the file's")
    listing = add_server_command(
        commands, "list", "list the books that are kept on a server", _list
    )
    listing.add_argument("--all", action="store_true", help="official books too")
    removing = add_server_command(commands, "remove", "remove a book from a server", _remove)
    removing.add_argument("name", metavar="NAME")
    importing = add_server_command(
        commands, "import", "give the books that OpenBench's files describe", _import
    )
    importing.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="OpenBench's NAME.epd.json or books.json, or a folder of them",
    )


def _give(client: Client, parsed: argparse.Namespace) -> None:
    if not parsed.file.is_file():
        raise NoBook(f"There is no file {parsed.file}.")
    book = client.put_book(parsed.name or parsed.file.name, parsed.file)
    tell(book, parsed, f"{book.name} is kept: {book.openings:,} openings.")


def _list(client: Client, parsed: argparse.Namespace) -> None:
    found = client.books()
    if parsed.json:
        print_json(found)
        return
    shown = [book for book in found.books if book.kept or parsed.all]
    print(table(("name", "openings", "bytes", "given by"), [_row(book) for book in shown]))


def _remove(client: Client, parsed: argparse.Namespace) -> None:
    book = client.remove_book(parsed.name)
    tell(book, parsed, f"{book.name} is removed.")


def _import(client: Client, parsed: argparse.Namespace) -> int:
    outcome = import_books(parsed.files, client.put_book)
    if parsed.json:
        print_json(outcome)
    else:
        for book in outcome.taken:
            print(f"{book.name}: {book.openings:,} openings.")
        for sentence in outcome.not_mapped:
            print(f"Not taken over: {sentence}")
    return 0 if outcome.taken or not outcome.not_mapped else 1


def _row(book: v1.BookEntry) -> tuple[str, ...]:
    size = f"{book.size:,}" if isinstance(book.size, int) else ""
    giver = book.user if isinstance(book.user, str) else "official"
    return book.name, f"{book.openings:,}", size, giver
