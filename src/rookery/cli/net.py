"""`rookery net`: adds nets for engines to be built with, lists and removes them."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from rookery.boundary.offload import Threads, stream
from rookery.cli.arguments import Subcommands, table
from rookery.cli.calling import add_server_command, tell
from rookery.cli.reaching import Reached, add_command
from rookery.client.client import Client
from rookery.errors import Complaint
from rookery.files.blobs import FolderBlobs
from rookery.files.holdings import HoldingRows
from rookery.files.nets import NetRows, NetStore
from rookery.files.store import FileRefused
from rookery.model.events import about_net
from rookery.people.users import UnknownUser

PIECE = 2**20


EXAMPLES = """\
examples:

  rookery net add nn-0123456789ab.nnue --user olga
  rookery net upload nn-0123456789ab.nnue --server https://farm.example.org
  rookery net remove nn-0123456789ab.nnue"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    adding = add_command(commands, "add", "take a net in, named by its own hash", _add, create=True)
    adding.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="nn-0123456789ab.nnue, or any other, which then goes by its SHA-256",
    )
    adding.add_argument("--engine", default="", metavar="NAME", help="whose it is")
    adding.add_argument("--user", required=True, metavar="NAME", help="who gives it")
    add_command(commands, "list", "list all nets, newest first", _list)
    giving = add_server_command(commands, "upload", "give a net to a running server", _upload)
    giving.add_argument("file", type=Path, metavar="FILE", help="as for add")
    giving.add_argument("--engine", default="", metavar="NAME", help="whose it is")
    removing = add_server_command(commands, "remove", "remove a net from a running server", _remove)
    removing.add_argument("name", metavar="NAME", help="as `rookery net list` shows it")


def _remove(client: Client, parsed: argparse.Namespace) -> None:
    net = client.remove_net(parsed.name)
    tell(net, parsed, f"{net.name} is removed.")


def _upload(client: Client, parsed: argparse.Namespace) -> None:
    _check_file(parsed.file)
    net = client.give_net(parsed.file, parsed.engine)
    tell(net, parsed, f"{net.name} is kept ({net.size:,} bytes as it is sent).")


def _check_file(file: Path) -> None:
    if not file.is_file():
        raise FileRefused(f"{file} can't be read.")


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            yield piece


async def _add(reached: Reached, parsed: argparse.Namespace) -> None:
    if await reached.accounts.users.by_name(parsed.user) is None:
        raise UnknownUser(parsed.user)
    _check_file(parsed.file)
    clock, threads = reached.accounts.clock, Threads()
    folder = FolderBlobs(reached.settings.data / "blobs" / "nets", clock)
    nets = NetStore(NetRows(reached.pool, reached.queries), folder, threads, clock)
    pieces = stream(lambda: _pieces(parsed.file), threads)
    net, is_new = await nets.take(pieces, parsed.file.name, parsed.user)
    if not is_new:
        raise Complaint(f"There is already a net {net.name}.")
    if parsed.engine:
        await HoldingRows(reached.pool, reached.queries).add(net.name, parsed.engine)
    now = reached.accounts.clock.now()
    await reached.accounts.audit.write(about_net(net.name, parsed.user, now, parsed.engine))
    size = parsed.file.stat().st_size
    print(f"Added {net.name} ({size:,} bytes, {net.size:,} as it is sent).")


async def _list(reached: Reached, _parsed: argparse.Namespace) -> None:
    rows = [
        (net.name, net.user, f"{net.created:%Y-%m-%d}", f"{net.size:,}", str(net.downloads))
        for net in await NetRows(reached.pool, reached.queries).everything()
    ]
    print(table(("name", "given by", "on", "bytes sent", "downloads"), rows))
