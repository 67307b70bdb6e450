"""What the worker routes need, put together by the composition root."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from rookery.boundary.gate import Gate
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.core.answers import Word
from rookery.service.credentials import Credentials
from rookery.service.fleet.fleet import Fleet
from rookery.service.fleet.waiting import WaitingLine
from rookery.service.pgns import PgnStore
from rookery.service.speeds import Speeds
from rookery.service.statistics import LateGames
from rookery.service.users import User
from rookery.service.worker_logs import LogStore
from rookery.web.api.worker.callers import TeamsOf
from rookery.web.api.worker.incoming import Machines
from rookery.web.api.worker.outgoing import Payloads
from rookery.web.bodies import LargeBodies
from rookery.web.streams import Streams


def in_no_team(_user: str) -> frozenset[str]:
    """Where nobody has made a team."""
    return frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where workers are served; one per app."""

    fleet: Fleet
    credentials: Credentials
    pgns: PgnStore
    logs: LogStore
    gate: Gate
    threads: Threads
    clock: Clock
    is_primary: Callable[[], bool]
    trusts: Callable[[User], Awaitable[Word]]  # what their word about a run is worth
    machines: Machines
    late: LateGames
    line: WaitingLine
    streams: Streams
    large_bodies: LargeBodies = field(default_factory=LargeBodies)
    speeds: Speeds = field(default_factory=Speeds)
    teams_of: TeamsOf = in_no_team
    payloads: Payloads = field(default_factory=Payloads)
