"""Two instances on one database, with the code that answers workers, in a loop whose turns are
counted, so that a test can cut a call at each of its awaits.

Real are the short and the long path, the forwarder, the fleet with its primary, its rules and its
group commit. Hand-made are the database (rows with a fence and a line that breaks), the connection
between the instances, the lease, the credentials and the time, which jumps when nobody is busy.
"""

import asyncio
import selectors
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from starlette.types import Message, Receive, Scope, Send

from rookery.server.db.fence import FencedOff
from rookery.server.db.lease import LeaseHeld, LeaseRow
from rookery.server.farm.commits import CommitListener, CommitStats, GroupCommit
from rookery.server.farm.rules.answers import Changes
from rookery.server.farm.writing import PendingRows, Slice
from rookery.server.http.primary_link import AnswerLost, NotReached, PrimaryLink, Reply
from rookery.server.identity.users import User
from rookery.server.identity.worker_credentials import VerifiedUser, WorkerCredentials
from rookery.server.worker_api.calls import worker_routes
from rookery.server.worker_api.short_path import ShortPath
from tests.fakes import HandClock
from tests.people import OLGA
from tests.twins.farm import MemoryReads
from tests.twins.farm_commits import MemoryRows
from tests.twins.people import MemoryUsers
from tests.twins.sites import MemorySite, make_site

FIRST, SECOND = "http://192.0.2.1:1", "http://192.0.2.2:1"
LEASE_SECONDS = 3.0
LONGEST_SECONDS = 1000.0
SETTLE_SECONDS = 0.5


class CountedLoop(asyncio.SelectorEventLoop):
    """A loop that counts its turns, and whose time passes only while it has nothing to do."""

    def __init__(self) -> None:
        super().__init__(_Jumping(self))
        self.passed = 0.0
        self._deeds: list[tuple[int, Callable[[], object]]] = []

    def time(self) -> float:
        return self.passed

    def do_all(self, deeds: list[tuple[int, Callable[[], object]]]) -> None:
        """Does things, each so many turns after the one before."""
        self._deeds = deeds

    def drop(self) -> bool:
        """Does nothing more; gives whether anything was left."""
        left, self._deeds = bool(self._deeds), []
        return left

    def count_turn(self) -> None:
        if not self._deeds:
            return
        (turns, deed), *rest = self._deeds
        if turns > 0:
            self._deeds = [(turns - 1, deed), *rest]
        else:
            self._deeds = rest
            self.call_soon(deed)


class _Jumping(selectors.SelectSelector):
    """Waits for nothing: what is due later is due at once, and the loop's clock says so."""

    def __init__(self, loop: CountedLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._loop.count_turn()
        found = super().select(0)
        if not found and timeout is None:
            raise RuntimeError("all wait for one another")
        if not found and timeout:
            self._loop.passed += timeout
            assert self._loop.passed < LONGEST_SECONDS, "it never ends"
        return found


@dataclass(slots=True)
class Database:
    """Rows behind a fence, and the lease."""

    rows: MemoryRows = field(default_factory=MemoryRows)
    epoch: int = 0
    holder: str = ""
    live: bool = True

    def pass_to(self, address: str) -> None:
        """Another instance takes over: from now on nobody else can write."""
        self.holder, self.epoch = address, self.epoch + 1

    async def read_lease(self) -> LeaseRow:
        return LeaseRow(self.epoch, self.holder, self.holder, self.live)


class CutWriter:
    """Writes rounds over a line that may break before or after a round was committed."""

    def __init__(self, database: Database, epoch: int) -> None:
        self._database = database
        self._epoch = epoch
        self.broken = False

    async def write(self, gathered: PendingRows, sequence: int) -> None:
        del sequence
        await self._travel()
        if self._database.epoch != self._epoch:
            raise FencedOff(epoch=self._epoch)
        _store(self._database.rows, gathered)
        await self._travel()

    async def follow(self, following: Slice) -> None:
        """Does nothing: that a task ended with its run is known from the run's row."""

    async def close(self) -> None:
        """Does nothing: there is no connection to close."""

    async def _travel(self) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise ConnectionResetError


def _store(rows: MemoryRows, gathered: PendingRows) -> None:
    rows.write(
        Changes(
            runs=tuple(gathered.runs.values()),
            tasks=tuple(gathered.tasks.values()),
            events=tuple(gathered.events),
            bad=tuple(gathered.bad.values()),
        )
    )
    for run, below in gathered.closed_below.items():
        for task in rows.of_run(run)[:below]:
            rows.tasks[task.run, task.id] = task.closed()


class CutStore:
    """A store on that database, as the primary of one instance uses it."""

    def __init__(self, database: Database, address: str) -> None:
        self.rows = database.rows
        self.reads = MemoryReads(database.rows)
        self.listeners: list[CommitListener] = []
        self.lost: Callable[[str], object] = lambda _reason: None
        self.writer = CutWriter(database, 0)
        self._database = database
        self._address = address
        self._commits: GroupCommit | None = None

    async def take(self) -> GroupCommit:
        await self.close()
        database = self._database
        if database.holder not in ("", self._address):
            raise LeaseHeld(holder=database.holder, address=database.holder, seconds=LEASE_SECONDS)
        database.pass_to(self._address)
        self.writer = CutWriter(database, database.epoch)
        self._commits = GroupCommit(self.writer, (), sequence=self.rows.sequence, lost=self.lost)
        return self._commits

    def abandon(self, reason: str) -> None:
        if self._commits is not None:
            self._commits.abandon(reason)

    async def publish(self, part: str, body: bytes | None) -> None:
        """Does nothing: nobody reads it."""

    async def close(self) -> None:
        commits, self._commits = self._commits, None
        if commits is not None:
            await commits.flush(1.0)
            await commits.end("closed")

    def stats(self) -> CommitStats:
        return CommitStats() if self._commits is None else self._commits.stats()


class KnownCredentials(WorkerCredentials):
    """Credentials that are always right."""

    def __init__(self, user: User) -> None:
        self._user = VerifiedUser(user, "seal")

    def find_verified(self, name: str, password: str) -> VerifiedUser | None:
        return self._user

    async def check(self, name: str, password: str, client: str) -> VerifiedUser:
        return self._user

    def adopt_seals(self, seals: Iterable[str]) -> None:
        """Does nothing: no seal is needed."""


App = Callable[[Scope, Receive, Send], Awaitable[None]]


HEADERS = [(b"host", b"localhost"), (b"content-type", b"application/json")]


async def ask(
    app: App, path: str, body: bytes, headers: list[tuple[bytes, bytes]] = HEADERS
) -> Reply:
    """A posted request, answered in this process."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(
        {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "scheme": "http",
            "headers": headers,
            "client": ("192.0.2.7", 1),
            "state": {},
        },
        receive,
        send,
    )
    start, *rest = sent
    content = b"".join(each.get("body", b"") for each in rest)
    return Reply(start["status"], list(start["headers"]), content)


class DirectLink(PrimaryLink):
    """A connection to the other instance in this process, which takes a turn each way."""

    def __init__(self, address: str, app: App) -> None:
        self.address = address
        self._app = app
        self._under_way: set[asyncio.Future[Reply]] = set()
        self._works: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return 1

    def cut(self) -> None:
        """Loses the requests and the answers that are on their way; what has arrived goes on."""
        for answer in self._under_way:
            if not answer.done():
                answer.set_exception(AnswerLost("cut"))
        self._under_way.clear()

    async def reach(self) -> None:
        await asyncio.sleep(0)
        if self._closed:
            raise NotReached("closed")

    async def ask(self, request: bytes, seconds: float, *, held: bool = False) -> Reply:
        del held
        async with asyncio.timeout(seconds):
            return await self._send(request)

    def ask_at_once(self, request: bytes, seconds: float) -> "asyncio.Future[Reply] | None":
        del seconds
        return self._send(request)

    def close(self) -> None:
        self._closed = True
        self.cut()

    def _send(self, request: bytes) -> "asyncio.Future[Reply]":
        answer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._under_way.add(answer)
        work = asyncio.create_task(self._carry(request, answer))
        self._works.add(work)
        work.add_done_callback(self._works.discard)
        return answer

    async def _carry(self, request: bytes, answer: "asyncio.Future[Reply]") -> None:
        await asyncio.sleep(0)
        if answer.done():
            return
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        headers = [(name, value) for name, _, value in (line.partition(b": ") for line in lines)]
        reply = await ask(self._app, first.split(b" ")[1].decode(), body, headers)
        await asyncio.sleep(0)
        if not answer.done():
            answer.set_result(reply)
            self._under_way.discard(answer)


@dataclass(frozen=True, slots=True)
class CutInstance:
    """One of the two."""

    address: str
    site: MemorySite
    store: CutStore
    app: ShortPath


@dataclass(slots=True)
class CutFarm:
    """Both instances; the first is primary at the beginning."""

    database: Database
    instances: dict[str, CutInstance] = field(default_factory=dict)
    links: list[DirectLink] = field(default_factory=list)
    impatience: asyncio.Event = field(default_factory=asyncio.Event)
    """Set while the worker waits for no answer, although its calls are still under way."""

    @property
    def primary(self) -> CutInstance:
        return self.instances[self.database.holder]

    @property
    def standby(self) -> CutInstance:
        (other,) = (each for name, each in self.instances.items() if name != self.database.holder)
        return other

    def take_over(self) -> None:
        """The other instance becomes primary, and this one knows."""
        self.primary.site.rules.primary = False
        self.take_over_in_silence()

    def take_over_in_silence(self) -> None:
        """The other becomes primary, while this one takes itself for it until it writes."""
        other = self.standby
        self.database.pass_to(other.address)
        other.site.rules.primary = True
        other.site.fleet.primary.wake_standby()

    def lose_memory(self) -> None:
        self.primary.site.fleet.primary.lost("on purpose")

    def break_line(self) -> None:
        """The connection to the database breaks: whether the round was committed is not known."""
        self.primary.store.writer.broken = True

    def cut_links(self) -> None:
        for link in self.links:
            link.cut()

    def lose_patience(self) -> None:
        """The worker's connection breaks, so that it calls once more."""
        self.impatience.set()

    async def settle(self) -> None:
        """Until the primary serves again, and has nothing left to write."""
        while self.standby.site.rules.primary or not self.primary.site.fleet.primary.is_serving:
            await asyncio.sleep(SETTLE_SECONDS)
            self.standby.site.rules.primary = False
        term = self.primary.site.fleet.primary.term()
        await self.primary.site.fleet.primary.wait_committed(term)


@asynccontextmanager
async def open_cut_farm() -> AsyncIterator[CutFarm]:
    farm = CutFarm(Database())
    async with AsyncExitStack() as ends:
        for address in (FIRST, SECOND):
            instance = _make_instance(farm, address)
            farm.instances[address] = instance
            primary = instance.site.fleet.primary
            instance.store.lost = primary.lost
            await primary.open()
            ends.push_async_callback(primary.close)
            ends.push_async_callback(instance.site.forwarder.aclose)
        yield farm


def _make_instance(farm: CutFarm, address: str) -> CutInstance:
    store, users = CutStore(farm.database, address), MemoryUsers(OLGA)
    site = make_site(users=users, clock=HandClock(), store=store)  # type: ignore[arg-type]  # a store
    site.credentials = KnownCredentials(OLGA)
    site.rules.primary = address == FIRST
    site.lifecycle.started()

    def link(to: str) -> DirectLink:
        made = DirectLink(to, farm.instances[to].app)
        farm.links.append(made)
        return made

    site.forwarder.own_address, site.forwarder.own_name = address, address
    site.forwarder.make_link = link
    site.read_lease = farm.database.read_lease

    async def nothing(scope: Scope, receive: Receive, send: Send) -> None:
        raise AssertionError(scope["path"])

    return CutInstance(address, site, store, ShortPath(nothing, site, worker_routes(site), "w"))
