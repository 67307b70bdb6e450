"""`rookery net`: adds nets for engines to be built with, lists and removes them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from rookery.core.boundary.offload import Threads, stream
from rookery.core.client.logins import THE_SERVER, ServerFlags
from rookery.core.command import Column, command_group, option, print_table
from rookery.core.errors import Complaint
from rookery.core.model.events import about_net
from rookery.server.commands.db import THE_DATABASE, DatabaseSettings, open_database
from rookery.server.files.engine_files import NetRows, NetStore
from rookery.server.files.places import open_files
from rookery.server.files.store import FileRefused
from rookery.server.identity.users import UnknownUser
from rookery.server.logs import SilentLog

PIECE = 2**20

net = command_group(
    "net",
    "Add, list or remove nets.",
    """\
  rookery net add nn-0123456789ab.nnue --user olga
  rookery net upload nn-0123456789ab.nnue --server https://farm.example.org
  rookery net remove nn-0123456789ab.nnue""",
)
File = Annotated[
    Path, option("nn-0123456789ab.nnue, or any other file, which is named by its SHA-256")
]
Engine = Annotated[str, option("engine that the net belongs to", "NAME")]


def _check_file(file: Path) -> None:
    if not file.is_file():
        raise FileRefused(f"{file} can't be read.")


def _pieces(file: Path) -> Iterator[bytes]:
    with file.open("rb") as opened:
        while piece := opened.read(PIECE):
            yield piece


@net.command
async def add(
    file: File,
    /,
    *,
    engine: Engine = "",
    user: Annotated[str, option("user that the net is from", "NAME")],
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Add a net to this machine's database, named by its hash."""
    async with open_database(database, create=True) as opened:
        if await opened.accounts.users.by_name(user) is None:
            raise UnknownUser(user)
        _check_file(file)
        clock, threads = opened.accounts.clock, Threads()
        place = await threads.io(open_files, opened.settings, threads, clock, SilentLog())
        rows = NetRows(opened.pool, opened.queries)
        nets = NetStore(rows, place.blobs("nets"), threads, clock)
        pieces = stream(lambda: _pieces(file), threads)
        taken, is_new = await nets.upload(pieces, file.name, user, engine)
        if not is_new:
            raise Complaint(f"There is already a net {taken.name}.")
        await opened.accounts.audit.write(about_net(taken.name, user, clock.now(), engine))
    size = file.stat().st_size
    print(f"Added {taken.name} ({size:,} bytes, {taken.size:,} compressed).")


@net.command(name="list")
async def list_nets(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """List all nets, newest first."""
    async with open_database(database) as opened:
        found = await NetRows(opened.pool, opened.queries).list_all()
    columns: list[Column] = [
        ("name", "{.name}"),
        ("given by", "{.user}"),
        ("on", "{.created:%Y-%m-%d}"),
        ("bytes sent", "{.size:,}"),
        ("downloads", "{.downloads}"),
    ]
    print_table(columns, found)


@net.command
def upload(file: File, /, *, engine: Engine = "", server: ServerFlags = THE_SERVER) -> None:
    """Upload a net to a running server."""
    _check_file(file)
    given = server.client.give_net(file, engine)
    server.tell(given, f"Uploaded {given.name} ({given.size:,} bytes compressed).")


@net.command
def remove(
    name: Annotated[str, option("as `rookery net list` shows it")],
    /,
    *,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Remove a net from a running server."""
    removed = server.client.remove_net(name)
    server.tell(removed, f"Removed {removed.name}.")
