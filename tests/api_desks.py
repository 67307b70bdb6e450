"""A desk for people's programs on in-memory twins."""

import secrets
from pathlib import Path

from rookery.clock import Clock
from rookery.service.bearers import Bearers
from rookery.service.blobs import Blobs
from rookery.service.nets import Downloads
from rookery.service.tokens import Tokens
from rookery.storage.blobs import FolderBlobs, MemoryBlobs
from rookery.storage.nets import MemoryNets
from rookery.web.api.desk import ApiDesk
from rookery.web.house import House
from tests.desks import Back


def make_api_desk(back: Back, house: House, tokens: Tokens, files: Path | None = None) -> ApiDesk:
    """Files lie in a folder where one is given, because only those are sent piece by piece."""
    nets = MemoryNets()
    return ApiDesk(
        fleet=back.desk.fleet,
        reads=back.store.reads,
        users=house.users,
        bearers=Bearers(tokens, house.users, house.clock),
        pgns=back.pgns,
        games=_folder(files, "games", house.clock),
        nets=nets,
        net_files=_folder(files, "nets", house.clock),
        downloads=Downloads(nets),
        streams=house.streams,
        threads=house.threads,
        clock=house.clock,
        chance=secrets.token_bytes,
    )


def _folder(files: Path | None, name: str, clock: Clock) -> Blobs:
    return MemoryBlobs() if files is None else FolderBlobs(files / name, clock)
