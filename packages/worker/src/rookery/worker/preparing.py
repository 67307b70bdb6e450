"""What a worker needs to play a task: its files, and both engines, made, checked and measured."""

import enum
import random
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path, PurePath
from time import monotonic
from typing import Protocol

from rookery.core.boundary.offload import Threads
from rookery.core.http_client import LARGEST_FILE, copy_at_most
from rookery.core.http_failures import CallRefused, NoAnswer, UnsafeAnswer
from rookery.core.model.engine import EngineRecord, time_factor
from rookery.core.protocol.worker_answers import PARTS
from rookery.match.job import EngineSpec
from rookery.match.openings import BookFault, OpeningBook
from rookery.worker.assignment import Assignment, Player
from rookery.worker.engines.bench import NOISY_SPREAD
from rookery.worker.engines.orders import BenchResult, EngineOrder, NotOffered, TaskFailed
from rookery.worker.identity import WorkerIdentity
from rookery.worker.reporting import (
    PERIOD_SECONDS,
    ROOKERY_RETRIES,
    RetryPolicy,
    WrongSignature,
    retry_call,
)
from rookery.worker.sandbox.sandbox import BuiltEngine, Sandbox
from rookery.worker.server import ServerCalls
from rookery.worker.stopping import Stop, Watcher

# What a worker uses from its start to its end.

# The files that a worker fetches: from its server, and from GitHub if the server does not have
# them.

ATTEMPTS = 6
"""How often a download is tried. A run must not lose a machine because its server is being
restarted."""
LARGEST_ARCHIVE = 2 * 2**30
BOOKS = "https://github.com/official-stockfish/books/raw/master"


class ServerDownloads:
    """Downloads what engines and games need. Files get their names only when they are complete."""

    def __init__(
        self, server: ServerCalls, threads: Threads, watch: Watcher, patience: RetryPolicy
    ) -> None:
        self._transport = server.transport
        self._credentials = (server.account.username, server.account.password)
        self._threads = threads
        self._watch = watch
        self._patience = replace(patience, attempts=ATTEMPTS)
        self.foreign = False
        """Whether the server is another project's. It gets no password with a download, and has no
        books."""

    async def net(self, name: str, into: Path) -> None:
        await self._offered(f"/api/nn/{name}", into)

    async def binary(self, sha256: str, into: Path) -> None:
        await self._offered(f"/api/binary/{sha256}", into)

    async def source(self, repository: str, commit: str, into: Path) -> None:
        """Download a zip archive if the server mirrors the repository. Other sources are fetched
        with git."""
        if not repository.startswith(f"{self._transport.server}/"):
            raise NotOffered
        address = f"{repository.rstrip('/')}/zipball/{commit}"
        await self._offered(address, into, LARGEST_ARCHIVE)

    async def book(self, name: str, into: Path) -> None:
        if not self.foreign:
            try:
                await self._fetch(f"/api/book/{name}", into)
            except UnsafeAnswer:
                raise
            except CallRefused:
                # The server does not have it; official books are at one address for everybody.
                pass
            else:
                return
        pack = into.with_name(f"{name}.zip")
        await self._fetch(f"{BOOKS}/{name}.zip", pack)
        await self._threads.io(_unpack, pack, name, into)

    async def _offered(self, address: str, into: Path, most_bytes: int = LARGEST_FILE) -> None:
        try:
            await self._fetch(address, into, most_bytes)
        except UnsafeAnswer as why:
            raise OSError(f"{address.rpartition('/')[2]}: {why}") from None
        except CallRefused:
            raise NotOffered from None
        except NoAnswer as error:
            raise OSError(str(error)) from None

    async def _fetch(self, address: str, into: Path, most_bytes: int = LARGEST_FILE) -> None:
        credentials = None if self.foreign else self._credentials
        fetch = partial(
            self._transport.fetch, address, into, credentials=credentials, most_bytes=most_bytes
        )
        await retry_call(fetch, self._patience, self._threads, self._watch)


def _unpack(pack: Path, name: str, into: Path) -> None:
    part = into.with_name(f"{name}.part")
    try:
        with zipfile.ZipFile(pack) as archive:
            with archive.open(name) as packed, part.open("wb") as file:
                copy_at_most(packed, file, LARGEST_FILE)
            part.replace(into)
    except (zipfile.BadZipFile, KeyError) as error:
        raise NoAnswer(f"{pack.name} does not hold the book: {error}") from None
    finally:
        pack.unlink(missing_ok=True)
        part.unlink(missing_ok=True)


# Opening books: kept in the cache, checked by their hash, downloaded if they are missing.


class BookCache:
    """The cached books of one worker."""

    def __init__(self, folder: Path, downloads: ServerDownloads, threads: Threads) -> None:
        self._folder = folder
        self._downloads = downloads
        self._threads = threads
        self._fetched: set[str] = set()

    def file(self, name: str) -> Path:
        return self._folder / name

    async def load(self, name: str, sri: str, depth: int, *, chess960: bool) -> OpeningBook | None:
        """Return the book; None if games begin from the starting position. Raise TaskFailed."""
        if PurePath(name).name != name:
            raise TaskFailed(f"{name!r} is not the name of a book.", blame="run")
        if depth <= 0:
            return None
        file = self.file(name)
        read = partial(_read, file, plies=2 * depth, chess960=chess960)
        book = await self._threads.io(read)
        if book is None or not await self._is_right(book, sri):
            await self._fetch(name, file)
            book = await self._threads.io(read)
        if book is None or not await self._is_right(book, sri):
            raise TaskFailed(f"The book {name} is not the version that the run names.")
        return book

    async def _is_right(self, book: OpeningBook, sri: str) -> bool:
        """Whether the content is right. Without a hash, only a book that this worker has downloaded
        itself is trusted."""
        if not sri:
            return book.name in self._fetched
        return await self._threads.cpu(lambda: book.sri) == sri

    async def _fetch(self, name: str, file: Path) -> None:
        try:
            await self._downloads.book(name, file)
        except (CallRefused, NoAnswer, OSError) as error:
            raise TaskFailed(f"The book {name} can't be fetched: {error}.") from None
        self._fetched.add(name)


def _read(file: Path, *, plies: int, chess960: bool) -> OpeningBook | None:
    try:
        return OpeningBook.load(file, plies=plies, chess960=chess960)
    except BookFault:
        return None


class RoundOutcome(enum.Enum):
    """The outcome of a round of the worker's session."""

    DONE = "done"
    IDLE = "no work"
    RUN_FAULT = "the run's fault"
    SERVER_FAULT = "the server's fault"
    MACHINE_FAULT = "this machine's fault"
    STOPPED = "stopped"


class EngineMaker(Protocol):
    """The part of the workshop that a session uses."""

    async def make(self, order: EngineOrder) -> BuiltEngine: ...

    async def sandbox(self) -> Sandbox: ...


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What a worker uses, created once by `rookery worker`."""

    server: ServerCalls
    identity: WorkerIdentity
    workshop: EngineMaker
    books: BookCache
    scratch: Path
    stop: Stop
    threads: Threads
    watch: Watcher
    nodes: tuple[frozenset[int], ...] = ()
    """The processors of each NUMA node."""
    syzygy: tuple[str, ...] = ()
    fastchess: str = ""
    patience: RetryPolicy = ROOKERY_RETRIES
    beat_seconds: float = PERIOD_SECONDS
    chance: Callable[[], float] = field(default=random.random)

    @property
    def is_rookery(self) -> bool:
        """Whether the server is a Rookery server."""
        return self.identity.is_rookery

    @property
    def in_parts(self) -> bool:
        """Whether the server accepts any number of whole pairs, even after the end of the task."""
        return PARTS in self.identity.features


# Makes both engines of a task, checks their benches against the signatures, and measures the
# machine's speed.

FRESH_SECONDS = 1800.0
"""How long a measured speed is valid, because machines get warm and their owners use them."""

BenchCall = Callable[..., Awaitable[BenchResult]]


@dataclass(frozen=True, slots=True)
class PreparedEngines:
    """Both engines ready to play, and the speed by which their times were scaled."""

    new: EngineSpec
    base: EngineSpec
    new_digest: str
    base_digest: str
    nps: float
    factor: float
    spread: float = 0.0
    """How much the slots' speeds differed, as a share of their mean."""

    @property
    def noisy(self) -> bool:
        return self.spread > NOISY_SPREAD


class EnginePreparation:
    """Makes and checks the engines of tasks. Remembers benches, and speeds for a while."""

    def __init__(self, workshop: EngineMaker, bench: BenchCall) -> None:
        self._workshop = workshop
        self._bench = bench
        self._known: dict[tuple[BuiltEngine, int], tuple[float, BenchResult]] = {}

    async def prepare(self, task: Assignment, slots: int) -> PreparedEngines:
        """Make, check and measure both engines. Raises TaskFailed."""
        base = await self._made(task.base)
        new = base if task.new.order == task.base.order else await self._made(task.new)
        # If no clock is scaled, the speed is only for display, and one bench is enough.
        measured = await self._checked(task.base, base, slots if task.is_timed else 1)
        if (new, task.new.order.signature) != (base, task.base.order.signature):
            await self._checked(task.new, new, 1)
        _refuse_slow(task.base.order.record, measured.nps, slots)
        factor = time_factor(task.reference_nps, measured.nps) if task.is_timed else 1.0
        sandbox = await self._workshop.sandbox()
        return PreparedEngines(
            _make_engine_spec(task.new, new, factor, sandbox),
            _make_engine_spec(task.base, base, factor, sandbox),
            new.digest,
            base.digest,
            measured.nps,
            factor,
            measured.spread,
        )

    async def _made(self, player: Player) -> BuiltEngine:
        return await self._workshop.make(player.order)

    async def _checked(self, player: Player, built: BuiltEngine, slots: int) -> BenchResult:
        record, expected = player.order.record, player.order.signature
        found = await self._measured(built, record, slots)
        if expected is not None and record.bench.must_match and found.nodes != expected:
            engine = f"{record.name}-{player.order.commit or player.order.binary}"
            raise WrongSignature(engine, expected=expected, found=found.nodes)
        return found

    async def _measured(self, built: BuiltEngine, record: EngineRecord, slots: int) -> BenchResult:
        at, known = self._known.get((built, slots), (0.0, None))
        if known and monotonic() - at < FRESH_SECONDS:
            return known
        sandbox = await self._workshop.sandbox()
        measure = partial(self._bench, built, record, slots=slots, sandbox=sandbox)
        found = await measure()
        if found.spread > NOISY_SPREAD:
            # One other program for one moment does not make a machine noisy.
            found = min(found, await measure(), key=lambda each: each.spread)
        self._known[built, slots] = (monotonic(), found)
        return found


def _make_engine_spec(
    player: Player, built: BuiltEngine, factor: float, sandbox: Sandbox
) -> EngineSpec:
    """Return an engine as the match starts it, without the worker's own environment variables."""
    return replace(
        player.spec,
        command=sandbox.playing(built),
        options=(*built.options, *player.spec.options),
        tc=str(player.spec.time_control.scaled(factor)),
        environment=built.environment,
    )


def _refuse_slow(record: EngineRecord, nps: float, cores: int) -> None:
    least = record.speed.least(cores)
    if nps < least:
        raise TaskFailed(
            f"This machine is too slow for {record.name}: {nps:.0f} of {least:.0f} nodes a second."
        )
