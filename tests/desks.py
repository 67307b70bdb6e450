"""A desk for workers on in-memory twins, and the step that opens its fleet."""

from dataclasses import dataclass, field

from rookery.boundary.domains import Declaration, Domain
from rookery.boundary.offload import Gate, Threads
from rookery.clock import Clock, SystemClock
from rookery.farm.engines import Engines
from rookery.farm.fleet import Fleet
from rookery.farm.statistics import LateGames
from rookery.farm.waiting import WaitingLine
from rookery.files.games import PgnStore
from rookery.files.worker_logs import LogStore
from rookery.logs import Log
from rookery.people.login import Credentials, WorkerTokens
from rookery.people.passwords import Passwords
from rookery.people.teams import Teams
from rookery.people.users import User, Users
from rookery.rules.answers import Word
from rookery.rules.eligibility import Policy
from rookery.web.bodies import Streams
from rookery.web.steps import Step
from rookery.web.worker_api.desk import Desk
from rookery.web.worker_api.incoming import MachineCache
from rookery.web.worker_api.outgoing import Payloads
from tests.twins.farm import MemoryStore
from tests.twins.files import MemoryBlobs, MemoryPgns, MemoryWorkerLogs
from tests.twins.people import MemoryAudit, MemoryTeams, MemoryUsers
from tests.twins.records import MemoryEngines, MemoryStatistics
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
    fleet.on_open(lambda term: credentials.adopt(term.seals()))
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
        machines=MachineCache(mind_quota=True),
        late=LateGames(statistics, fleet, clock),
        line=WaitingLine(fleet),
        streams=Streams(),
        payloads=Payloads(engines.told_of),
        teams_of=teams.of,
    )
    return Back(desk, store, pgns, blobs, standing, engines, teams, statistics)
