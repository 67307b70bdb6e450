"""What the composition root hands to the web app: ports, crossings and the rules of this site."""

import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import cache

from rookery.boundary.bridge import Bridge
from rookery.boundary.gate import Gate
from rookery.boundary.meter import LoopMeter
from rookery.boundary.offload import Threads
from rookery.boundary.watch import LoopWatch
from rookery.clock import Clock
from rookery.core.ed25519 import fingerprint, public_key
from rookery.logs import Log
from rookery.service.disk import Disk
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.jobs import Job
from rookery.service.tidings import ListeningStats, Tidings
from rookery.service.users import EndedSessions, Users
from rookery.web.api.desk import ApiDesk
from rookery.web.api.worker.calls import LARGEST
from rookery.web.api.worker.desk import Desk
from rookery.web.hosts import Hosts, hosts
from rookery.web.lifecycle import Lifecycle
from rookery.web.paths import BINARIES_PATH, BOOKS_PATH, NETS_PATH
from rookery.web.proxies import Proxies
from rookery.web.steps import Opened, Stairs, Step
from rookery.web.streams import Streams


@dataclass(frozen=True, slots=True)
class PoolStats:
    """The database pool in three figures."""

    size: int
    idle: int
    most: int


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a request may be, and how long it may take to come. `bodies` names the paths that
    take more than the default."""

    head_seconds: float = 30.0
    body_seconds: float = 30.0
    """For a small body, or for the next piece of a large one."""

    head_bytes: int = 32 * 1024
    headers: int = 100
    path_bytes: int = 8 * 1024
    body_bytes: int = 1024 * 1024
    strangers_bytes: int = 64 * 1024
    """For those who show nothing by which they could be known, and where nobody asks for it."""

    bodies: dict[str, int] = field(default_factory=lambda: dict(LARGEST))
    folders: dict[str, int] = field(default_factory=dict)
    """The same for all paths right below one."""

    @classmethod
    def with_uploads(cls, most: int) -> "Limits":
        """Where people may upload files of so many bytes."""
        return cls(
            bodies=LARGEST | {BINARIES_PATH: most, NETS_PATH: most}, folders={BOOKS_PATH: most}
        )

    def largest_body(self, path: str) -> int:
        below = self.folders.get(path.rpartition("/")[0], self.body_bytes)
        return self.bodies.get(path, below)


@cache
def _fingerprint_of(seed: bytes) -> str:
    """Some milliseconds of arithmetic, once."""
    return fingerprint(public_key(seed))


def always() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Basis:
    """What a process has before it opens anything, from its first moment to its last."""

    threads: Threads
    clock: Clock
    log: Log
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    streams: Streams = field(default_factory=Streams)
    tidings: Tidings = field(default_factory=Tidings)
    disk: Disk | None = None
    """The one below the data folder; None where nothing is kept on any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Everything the app needs, and nothing it opens itself."""

    users: Users
    ended_sessions: EndedSessions
    disk: Disk
    workers: Desk
    api: ApiDesk
    threads: Threads
    bridge: Opened[Bridge]
    stairs: Stairs
    ground_steps: tuple[Step, ...] = ()  # taken before the house was built, listed with its own
    clock: Clock
    log: Log
    secret_keys: Callable[[], tuple[bytes, ...]]  # the last one signs, all are accepted
    database_answers: Callable[[], Awaitable[None]]  # raises or takes too long when it does not
    watch: Opened[LoopWatch] = field(default_factory=lambda: Opened("watch"))
    meter: LoopMeter = field(default_factory=LoopMeter)
    gates: tuple[Gate, ...] = ()
    jobs: tuple[Job, ...] = ()
    pool: Callable[[], PoolStats | None] = lambda: None
    listening: Callable[[], ListeningStats | None] = lambda: None
    is_primary: Callable[[], bool] = always
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    streams: Streams = field(default_factory=Streams)
    tidings: Tidings = field(default_factory=Tidings)
    connections: Opened[Callable[[], int]] = field(default_factory=lambda: Opened("http server"))
    wheel_key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    """Signs what machines are to run; those of real sites outlive the process."""
    base_url: str | None = None
    hosts: Hosts = field(default_factory=lambda: hosts(None))
    proxies: Proxies = field(default_factory=Proxies)
    limits: Limits = field(default_factory=Limits)
    access_log: bool = False
    login_to_view: bool = False
    """Whether strangers see nothing at all."""
    simulated_fleet: bool = False
    """Whether invented results count, which every page then says."""

    @property
    def fingerprint(self) -> str:
        """Of the key by which workers know what this server hands out."""
        return _fingerprint_of(self.wheel_key)

    @property
    def fleet(self) -> Fleet:
        return self.workers.fleet
