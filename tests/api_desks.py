"""A desk for people's programs on in-memory twins."""

import secrets
from pathlib import Path

from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.service.bearers import Bearers
from rookery.service.blobs import Blobs
from rookery.service.events import Bus
from rookery.service.nets import Downloads
from rookery.service.privacy import Privacy
from rookery.service.sources.binaries import BinaryStore
from rookery.service.sources.sources import Sources
from rookery.service.tokens import Tokens
from rookery.service.users import Users
from rookery.storage.binaries import MemoryBinaries
from rookery.storage.blobs import FolderBlobs, MemoryBlobs
from rookery.storage.memory import MemoryTokens
from rookery.storage.nets import MemoryNets
from rookery.storage.statistics import MemoryStatistics
from rookery.web.api.desk import ApiDesk
from rookery.web.streams import Streams
from tests.desks import Back


def make_api_desk(
    back: Back,
    users: Users,
    *,
    threads: Threads,
    clock: Clock,
    streams: Streams,
    tokens: Tokens | None = None,
    files: Path | None = None,
) -> ApiDesk:
    """Files lie in a folder where one is given, because only those are sent piece by piece."""
    nets, bus = MemoryNets(), Bus(back.store.reads)
    back.store.hears.append(bus)
    return ApiDesk(
        fleet=back.desk.fleet,
        reads=back.store.reads,
        users=users,
        bearers=Bearers(tokens or MemoryTokens(users), users, clock),
        engines=back.engines,
        bus=bus,
        teams=back.teams,
        privacy=Privacy(back.engines, back.teams),
        pgns=back.pgns,
        games=_folder(files, "games", clock),
        nets=nets,
        net_files=_folder(files, "nets", clock),
        statistics=MemoryStatistics(),
        logs=back.desk.logs,
        downloads=Downloads(nets),
        sources=make_sources(files, threads, clock),
        streams=streams,
        threads=threads,
        clock=clock,
        chance=secrets.token_bytes,
    )


def make_sources(files: Path | None, threads: Threads, clock: Clock) -> Sources:
    binaries = _folder(files, "binaries", clock)
    return Sources(BinaryStore(MemoryBinaries(), binaries, threads, clock))


def _folder(files: Path | None, name: str, clock: Clock) -> Blobs:
    return MemoryBlobs() if files is None else FolderBlobs(files / name, clock)
