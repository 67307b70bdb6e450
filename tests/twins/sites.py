"""A house as `serve` builds it, with everything kept in memory."""

import secrets

from rookery import bootstrap
from rookery.bootstrap.desks import Keeping, make_desks
from rookery.bootstrap.ground import Ground, ground_steps
from rookery.bootstrap.house import make_house
from rookery.files.worker_logs import LogStore
from rookery.logs import SilentLog
from rookery.settings import Settings
from rookery.sources.lookup import Shelf
from rookery.web.house import Basis, House
from tests.twins.farm import MemoryStore
from tests.twins.files import (
    MemoryBinaries,
    MemoryBlobs,
    MemoryBooks,
    MemoryHoldings,
    MemoryNets,
    MemoryPgns,
    MemoryWorkerLogs,
)
from tests.twins.people import MemoryEndedSessions, MemoryTeams, MemoryTokens, MemoryUsers, NoAudit
from tests.twins.records import MemoryEngines, MemoryRepositories, MemorySpeeds, MemoryStatistics


def house_in_memory(settings: Settings) -> House:
    basis = bootstrap.basis(settings, SilentLog())
    kept = kept_in_memory(basis)
    return make_house(
        settings,
        basis,
        make_desks(settings, basis, MemoryStore(), kept, key=secrets.token_bytes(32)),
        users=kept.users,
        ended_sessions=MemoryEndedSessions(),
        key=secrets.token_bytes(32),
        wheel_key=secrets.token_bytes(32),
        ground_steps=ground_steps(settings, Ground(), basis),
        database_answers=answer_at_once,
        pool=lambda: None,
        listening=lambda: None,
        is_primary=lambda: True,
    )


def kept_in_memory(basis: Basis) -> Keeping:
    """What is kept beside the fleet's rows, in memory and empty."""
    users = MemoryUsers()
    return Keeping(
        users,
        MemoryTokens(users),
        MemoryPgns(),
        MemoryNets(),
        MemoryEngines(),
        MemoryStatistics(),
        MemoryTeams(),
        MemoryHoldings(),
        MemoryRepositories(),
        NoAudit(),
        games=MemoryBlobs(),
        net_files=MemoryBlobs(),
        logs=LogStore(MemoryWorkerLogs(), MemoryBlobs(), basis.threads, basis.clock),
        shelf=Shelf(MemoryBinaries(), MemoryBlobs(), MemoryBooks(), MemoryBlobs()),
        speeds=MemorySpeeds(),
    )


async def answer_at_once() -> None:
    """What a database in memory does."""
