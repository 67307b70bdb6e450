"""`rookery net`: adds nets for engines to be built with, and lists them."""

import argparse
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.cli.calling import add_server_command, print_json
from rookery.cli.reaching import Reached, add_command
from rookery.cli.subcommands import Subcommands
from rookery.cli.tables import table
from rookery.client import Client
from rookery.core.events import Action, Event
from rookery.service.nets import NetRefused, NetStore, name_of
from rookery.service.users import UnknownUser
from rookery.storage.blobs import FolderBlobs
from rookery.storage.holdings import PostgresHoldings
from rookery.storage.nets import PostgresNets


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser("net", help="add or list nets")
    commands = Subcommands(parser)
    adding = add_command(commands, "add", "take a net in, named by its own hash", _add)
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


def _upload(client: Client, parsed: argparse.Namespace) -> None:
    if not parsed.file.is_file():
        raise NetRefused(f"{parsed.file} can't be read.")
    net = client.give_net(parsed.file, parsed.engine)
    if parsed.json:
        print_json(net)
    else:
        print(f"{net.name} is kept ({net.size:,} bytes as it is sent).")


async def _add(reached: Reached, parsed: argparse.Namespace) -> None:
    if await reached.accounts.users.by_name(parsed.user) is None:
        raise UnknownUser(parsed.user)
    try:
        data = parsed.file.read_bytes()
    except OSError:
        raise NetRefused(f"{parsed.file} can't be read.") from None
    clock = reached.accounts.clock
    folder = FolderBlobs(reached.settings.data / "blobs" / "nets", clock)
    store = NetStore(PostgresNets(reached.pool, reached.queries), folder, Threads(), clock)
    net = await store.take(name_of(parsed.file.name, data), data, parsed.user)
    if parsed.engine:
        await PostgresHoldings(reached.pool, reached.queries).add(net.name, parsed.engine)
    await _tell(reached, parsed.user, net.name)
    print(f"Added {net.name} ({len(data):,} bytes, {net.size:,} as it is sent).")


async def _list(reached: Reached, _parsed: argparse.Namespace) -> None:
    rows = [
        (net.name, net.user, f"{net.created:%Y-%m-%d}", f"{net.size:,}", str(net.downloads))
        for net in await PostgresNets(reached.pool, reached.queries).everything()
    ]
    print(table(("name", "given by", "on", "bytes sent", "downloads"), rows))


async def _tell(reached: Reached, user: str, name: str) -> None:
    now = reached.accounts.clock.now()
    event = Event(Action.UPLOAD_NN, now, user, "", "", nn=name)
    await reached.accounts.audit.write(event)
