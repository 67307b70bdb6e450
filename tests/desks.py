"""A desk for workers on in-memory twins, and the step that opens its fleet."""

from dataclasses import dataclass, field

from rookery.boundary.domains import Declaration, Domain
from rookery.boundary.gate import Gate
from rookery.boundary.offload import Threads
from rookery.clock import Clock, SystemClock
from rookery.core.answers import Word
from rookery.core.scheduling.policy import Policy
from rookery.logs import Log
from rookery.service.credentials import Credentials, WorkerTokens
from rookery.service.engines import Engines
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.waiting import WaitingLine
from rookery.service.passwords import Passwords
from rookery.service.pgns import PgnStore
from rookery.service.statistics import LateGames
from rookery.service.teams import Teams
from rookery.service.users import User, Users
from rookery.service.worker_logs import LogStore
from rookery.storage.audit import MemoryAudit
from rookery.storage.blobs import MemoryBlobs
from rookery.storage.engines import MemoryEngines
from rookery.storage.fleet.memory.store import MemoryStore
from rookery.storage.memory import MemoryUsers
from rookery.storage.pgns import MemoryPgns
from rookery.storage.statistics import MemoryStatistics
from rookery.storage.teams import MemoryTeams
from rookery.storage.worker_logs import MemoryWorkerLogs
from rookery.web.api.worker.desk import Desk
from rookery.web.api.worker.incoming import Machines
from rookery.web.api.worker.outgoing import Payloads
from rookery.web.steps import Step
from rookery.web.streams import Streams
from tests.unit.web.fakes import RecordedLog

KEY = b"a key for tests only"
SIMULATED = Policy(simulated=True)


@dataclass(slots=True)
class Standing:
    """What a test may change about a desk while it is used."""

    primary: bool = True
    trusted: set[str] = field(default_factory=set)
    unheard: set[str] = field(default_factory=set)
    """Those whose complaints do not count."""

    def is_primary(self) -> bool:
        return self.primary

    async def trusts(self, user: User) -> Word:
        if user.name in self.unheard:
            return Word.NOTED
        return Word.STOPS if user.name in self.trusted else Word.COUNTS


@dataclass(frozen=True, slots=True)
class Back:
    """What lies behind a desk, for a test to look at."""

    desk: Desk
    store: MemoryStore
    pgns: MemoryPgns
    blobs: MemoryBlobs
    standing: Standing
    engines: Engines
    teams: Teams
    statistics: MemoryStatistics

    def step(self) -> Step:
        why = Declaration(Domain.LOOP, "reads the twins")
        return Step("fleet", why, self.desk.fleet.open, self.desk.fleet.close)


class NoTokens:
    """A place where nobody has made any."""

    async def owner(self, token: str) -> str | None:
        del token
        return None


def make_back(
    *,
    users: Users | None = None,
    tokens: WorkerTokens | None = None,
    threads: Threads | None = None,
    clock: Clock | None = None,
    log: Log | None = None,
    store: MemoryStore | None = None,
    policy: Policy = SIMULATED,
) -> Back:
    """Workers of tests make their results up, unless the policy says that they play."""
    clock, threads, store = clock or SystemClock(), threads or Threads(), store or MemoryStore()
    fleet = Fleet(store, clock, log or RecordedLog(), policy=policy)
    pgns, blobs, standing = MemoryPgns(), MemoryBlobs(), Standing()
    credentials = Credentials(
        users or MemoryUsers(),
        Passwords(threads, clock, KEY),
        tokens or NoTokens(),
        clock,
        KEY,
    )
    users = users or MemoryUsers()
    audit, statistics = MemoryAudit(store.rows), MemoryStatistics()
    teams = Teams(MemoryTeams(), users, clock, audit)
    engines = Engines(MemoryEngines(), teams, clock, fleet.active, fleet.engine_shares, audit)
    fleet.renewed = engines.renewed
    fleet.on_open(lambda tenure: credentials.adopt(tenure.seals()))
    desk = Desk(
        fleet=fleet,
        credentials=credentials,
        pgns=PgnStore(fleet, pgns, blobs, threads, clock),
        logs=LogStore(MemoryWorkerLogs(), MemoryBlobs(), threads, clock),
        gate=Gate("request_task", 5),
        threads=threads,
        clock=clock,
        is_primary=standing.is_primary,
        trusts=standing.trusts,
        machines=Machines(mind_quota=True),
        late=LateGames(statistics, fleet, clock),
        line=WaitingLine(fleet),
        streams=Streams(),
        payloads=Payloads(engines.told_of),
        teams_of=teams.of,
    )
    return Back(desk, store, pgns, blobs, standing, engines, teams, statistics)
