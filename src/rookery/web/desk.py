"""What the JSON endpoints work with, and how what they are refused becomes an answer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rookery.boundary.offload import Gate, Threads
from rookery.clock import Clock
from rookery.farm.engines import Engines, NotOfTeam, UnknownEngine, UnknownVersion
from rookery.farm.events import Bus
from rookery.farm.fleet import Fleet
from rookery.farm.ports import FleetReads, UnknownMachine, UnknownRun, UnknownTask
from rookery.farm.privacy import Privacy
from rookery.farm.statistics import Speeds
from rookery.farm.statistics_rows import Statistics
from rookery.farm.submission import Chance, Surroundings
from rookery.farm.views import tasks_at_play
from rookery.files.books import UnknownBook
from rookery.files.games import Pgns
from rookery.files.nets import Downloads, Nets, NotYourNet, UnknownNet
from rookery.files.quotas import Holdings, QuotaExceeded
from rookery.files.store import Blobs
from rookery.files.worker_logs import LogStore
from rookery.model.run import BadGames, FixedGames, NotApprover, NotYours, OwnRun, Run, RunFault
from rookery.model.task import Task
from rookery.people.accounts import Accounts
from rookery.people.bearers import Bearers
from rookery.people.login import Credentials, SignUp
from rookery.people.teams import NotLeading, Teams, UnknownTeam
from rookery.people.users import UnknownUser, Users
from rookery.protocol.codec import WireFault
from rookery.protocol.user_documents import QuotaDocument
from rookery.rules.lifecycle import Actor
from rookery.sources.grants import NotGranted, Repositories
from rookery.sources.lookup import Sources
from rookery.web.bodies import LargeBodies, Streams
from rookery.web.faults import BadRequest, BodyTooLarge, Conflict, Forbidden, NotFound

NOT_ALLOWED = (NotYours, NotYourNet, NotApprover, OwnRun, NotOfTeam, NotLeading)
NOT_THERE = (
    UnknownRun,
    UnknownTask,
    UnknownMachine,
    UnknownBook,
    UnknownNet,
    UnknownEngine,
    UnknownTeam,
    NotGranted,
    UnknownVersion,
)
NOT_SENSIBLE = (BadGames, FixedGames)


def never_an_outage(_error: BaseException) -> bool:
    """In-memory twins are always there."""
    return False


def unknown_quota() -> QuotaDocument:
    """What is known of GitHub's quota before anybody has asked GitHub for anything."""
    return QuotaDocument(limit=60, remaining=60, reset=0, used=0, uninitialized=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiDesk:
    """One per app."""

    fleet: Fleet
    reads: FleetReads
    users: Users
    bearers: Bearers
    accounts: Accounts
    sign_up: SignUp
    engines: Engines
    speeds: Speeds
    bus: Bus
    teams: Teams
    privacy: Privacy
    holdings: Holdings
    repositories: Repositories
    credentials: Credentials
    pgns: Pgns
    games: Blobs
    nets: Nets
    net_files: Blobs
    statistics: Statistics
    logs: LogStore
    downloads: Downloads
    sources: Sources
    streams: Streams
    threads: Threads
    clock: Clock
    chance: Chance
    event_gate: Gate = field(default_factory=lambda: Gate("events", 5000))
    """How many streams of events may be open at once."""
    large_bodies: LargeBodies = field(default_factory=LargeBodies)
    """Files that people send."""
    is_outage: Callable[[BaseException], bool] = never_an_outage
    """Whether an error means that the database is away."""
    around: Surroundings = field(default_factory=Surroundings)
    cross_approval: bool = False
    """Whether an approver's own runs wait for another approver."""
    upload_quota: int | None = None
    """Bytes that everybody may keep here, unless something else is said of them; None: any."""
    nets_elsewhere: str = ""
    """The address of another server that gives nets, instead of this one."""
    quota: Callable[[], QuotaDocument] = unknown_quota


@contextmanager
def refusals() -> Iterator[None]:
    """Errors of the rooms below as the faults that clients read."""
    try:
        yield
    except WireFault as fault:
        raise BadRequest(str(fault)) from None
    except NOT_ALLOWED as fault:
        raise Forbidden(_sentence(fault)) from None
    except NOT_THERE as fault:
        raise NotFound(_sentence(fault)) from None
    except QuotaExceeded as fault:
        raise BodyTooLarge(str(fault)) from None
    except UnknownUser as fault:
        raise NotFound(str(fault)) from None
    except NOT_SENSIBLE as fault:
        raise BadRequest(_sentence(fault)) from None
    except RunFault as fault:
        raise Conflict(_sentence(fault)) from None


async def seen_run(desk: ApiDesk, run_id: str, viewer: str | None) -> Run:
    """A run that the viewer may know of; of any other, what is said of those that never were."""
    with refusals():
        run = await desk.fleet.known_run(run_id)
        if not desk.privacy.sees(viewer, run):
            raise UnknownRun(run=run_id)
    return run


async def shown_run(desk: ApiDesk, run_id: str, reader: Actor | None) -> Run:
    """As `seen_run`, with as much of it as the reader may see."""
    run = await seen_run(desk, run_id, None if reader is None else reader.name)
    return desk.privacy.shown(reader, run)


async def seen_tasks_at_play(desk: ApiDesk, viewer: str | None) -> tuple[Task, ...]:
    with refusals():
        tasks = await tasks_at_play(desk.fleet)
        if not desk.privacy.hidden(viewer):
            return tasks
        seen = {run.id for run in await desk.fleet.active() if desk.privacy.sees(viewer, run)}
    return tuple(task for task in tasks if task.run in seen)


def _sentence(fault: RunFault) -> str:
    text = str(fault)
    return f"{text[:1].upper()}{text[1:]}."
