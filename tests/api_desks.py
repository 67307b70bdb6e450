"""A desk for people's programs on in-memory twins."""

import secrets
from pathlib import Path

from rookery.bootstrap.desks import make_sources
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.farm.events import Bus
from rookery.farm.privacy import Privacy
from rookery.files.nets import Downloads
from rookery.files.quotas import Holdings
from rookery.files.store import Blobs, FolderBlobs
from rookery.people.accounts import Accounts
from rookery.people.bearers import Bearers
from rookery.people.login import SignUp
from rookery.people.passwords import Passwords
from rookery.people.users import Tokens, Users
from rookery.sources.grants import Repositories
from rookery.sources.lookup import Shelf, Sources
from rookery.web.bodies import Streams
from rookery.web.desk import ApiDesk
from rookery.web.house import Basis
from tests.desks import KEY, Back
from tests.twins.files import MemoryBinaries, MemoryBlobs, MemoryBooks, MemoryHoldings, MemoryNets
from tests.twins.people import MemoryAudit, MemoryTokens
from tests.twins.records import MemoryRepositories, MemoryStatistics
from tests.unit.web.fakes import RecordedLog


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
    tokens = tokens or MemoryTokens(users)
    privacy = Privacy(back.engines, back.teams)
    passwords, audit = Passwords(threads, clock, KEY), MemoryAudit(back.store.rows)
    accounts = Accounts(users, tokens, passwords, clock, secrets.token_bytes, audit)
    nets, bus = MemoryNets(), Bus(back.store.reads)
    back.store.hears.append(bus)
    return ApiDesk(
        fleet=back.desk.fleet,
        reads=back.store.reads,
        users=users,
        bearers=Bearers(tokens, users, clock),
        accounts=accounts,
        sign_up=SignUp(accounts),
        engines=back.engines,
        speeds=back.desk.speeds,
        bus=bus,
        teams=back.teams,
        privacy=privacy,
        holdings=Holdings(MemoryHoldings(back.store.rows.holdings), back.engines, privacy),
        repositories=Repositories(MemoryRepositories(), back.teams, clock, audit),
        credentials=back.desk.credentials,
        pgns=back.pgns,
        games=_folder(files, "games", clock),
        nets=nets,
        net_files=_folder(files, "nets", clock),
        statistics=MemoryStatistics(),
        logs=back.desk.logs,
        downloads=Downloads(nets),
        sources=_sources(back, files, threads, clock),
        streams=streams,
        threads=threads,
        clock=clock,
        chance=secrets.token_bytes,
    )


def _sources(back: Back, files: Path | None, threads: Threads, clock: Clock) -> Sources:
    shelf = Shelf(
        MemoryBinaries(),
        _folder(files, "binaries", clock),
        MemoryBooks(),
        _folder(files, "books", clock),
    )
    return make_sources(Basis(threads, clock, RecordedLog()), shelf, back.desk.fleet)


def _folder(files: Path | None, name: str, clock: Clock) -> Blobs:
    return MemoryBlobs() if files is None else FolderBlobs(files / name, clock)
