"""What the worker routes need, put together by the composition root."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from rookery.boundary.offload import Gate, Threads
from rookery.clock import Clock
from rookery.farm.fleet import Fleet
from rookery.farm.statistics import LateGames, Speeds
from rookery.farm.waiting import WaitingLine
from rookery.files.games import PgnStore
from rookery.files.worker_logs import LogStore
from rookery.people.login import Credentials
from rookery.people.users import User
from rookery.rules.answers import Word
from rookery.web.bodies import LargeBodies, Streams
from rookery.web.worker_api.incoming import MachineCache, TeamsOf
from rookery.web.worker_api.outgoing import Payloads


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
    machines: MachineCache
    late: LateGames
    line: WaitingLine
    streams: Streams
    large_bodies: LargeBodies = field(default_factory=LargeBodies)
    speeds: Speeds = field(default_factory=Speeds)
    teams_of: TeamsOf = in_no_team
    payloads: Payloads = field(default_factory=Payloads)
