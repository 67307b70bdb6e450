"""What the composition root hands to the web app: ports, crossings and the rules of this site."""

import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from urllib.parse import urlsplit

from rookery.boundary.bridge import Bridge
from rookery.boundary.offload import Gate, Threads
from rookery.boundary.watch import LoopMeter, LoopWatch
from rookery.clock import Clock
from rookery.db.listening import ListeningStats, Tidings
from rookery.errors import Complaint
from rookery.farm.fleet import Fleet
from rookery.farm.jobs import PeriodicJob
from rookery.files.disk import Disk
from rookery.logs import Log
from rookery.people.users import EndedSessions, Users
from rookery.protocol.ed25519 import fingerprint, public_key
from rookery.web.bodies import Streams
from rookery.web.desk import ApiDesk
from rookery.web.scope import BINARIES_PATH, BOOKS_PATH, NETS_PATH
from rookery.web.steps import Lifecycle, Opened, Stairs, Step
from rookery.web.worker_api.calls import LARGEST
from rookery.web.worker_api.desk import Desk

# Which host names this server answers to.
#
# A forged Host header poisons links and caches, and a web page of a stranger can point a name of
# his at this machine. Both need a name, so plain addresses are always welcome.

_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::([0-9]{1,5}))?")
_ALWAYS = ("localhost", "*.localhost")


@dataclass(frozen=True, slots=True)
class Hosts:
    """Exact names, and endings such as `.example.org`; an empty ending takes any name."""

    names: frozenset[str]
    endings: tuple[str, ...]

    def allow(self, header: str) -> bool:
        matched = _HOST.fullmatch(header)
        if matched is None:
            return False
        name = matched[1].lower().rstrip(".")
        return name in self.names or name.endswith(self.endings) or _is_address(name)


def hosts(base_url: str | None, allowed: Iterable[str] = ()) -> Hosts:
    """The base URL's name, the allowed ones and this host; a leading `*` stands for anything."""
    own = urlsplit(base_url).hostname if base_url else None
    patterns = [word.lower() for word in (*_ALWAYS, *allowed, *([own] if own else []))]
    return Hosts(
        names=frozenset(word for word in patterns if not word.startswith("*")),
        endings=tuple(word[1:] for word in patterns if word.startswith("*")),
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# Who is at the other end, seen through the proxies that are trusted and no others.

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class BadProxy(Complaint):
    """A trusted proxy is neither an address nor a network."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Proxies:
    """The networks whose forwarding headers are believed."""

    networks: tuple[Network, ...] = ()

    def trust(self, address: str) -> bool:
        if not self.networks:
            return False
        parsed = _address(address)
        return parsed is not None and any(parsed in network for network in self.networks)

    def client(self, peer: str, forwarded_for: Iterable[str]) -> str:
        """The nearest address that no trusted proxy stands for.

        Read from the right: what lies left of an untrusted address is whatever that one wrote.
        """
        if not self.networks:
            return peer
        seen = peer
        for word in reversed([part.strip() for line in forwarded_for for part in line.split(",")]):
            if not self.trust(seen) or _address(word) is None:
                break
            seen = word
        return seen


def proxies(words: Iterable[str]) -> Proxies:
    """From settings such as `127.0.0.1, 10.0.0.0/8`."""
    networks = []
    for word in words:
        try:
            networks.append(ipaddress.ip_network(word, strict=False))
        except ValueError:
            raise BadProxy(
                f"A trusted proxy is an address or a network such as 10.0.0.0/8, not {word!r}."
            ) from None
    return Proxies(tuple(networks))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


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
    jobs: tuple[PeriodicJob, ...] = ()
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
