"""The periodic jobs that a site runs while it serves."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from rookery.server.app.front_end import FrontEnd
from rookery.server.app.memory import GrownMemory
from rookery.server.app.site import Site
from rookery.server.ask.history import HISTORY_SECONDS, HistoryKeeping
from rookery.server.ask.indexing import INDEX_SECONDS, Indexer
from rookery.server.ask.sessions import ChatSessions
from rookery.server.ask.uploads import READ_SECONDS, Uploads
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.activity import PUBLISH_SECONDS, ActivityKeeping
from rookery.server.farm.jobs import TICK_SECONDS, FleetJobs, JobPlace, PeriodicJob, Reachability
from rookery.server.farm.statistics import Accounting, SpeedKeeping
from rookery.server.files.disk import Disk
from rookery.server.files.engine_files import NetStore
from rookery.server.files.storage_health import StorageHealth
from rookery.server.files.store import FileStore
from rookery.server.notify.sending import SEND_SECONDS, Sender
from rookery.server.people.bearers import Bearers
from rookery.server.people.worker_credentials import REREAD_SECONDS, WorkerCredentials
from rookery.server.people.worker_tokens import WorkerTokens
from rookery.server.sources.official_books import OfficialBookList
from rookery.server.sources.progress import ProgressKeeping
from rookery.server.sources.reviews import Reviews

BOOKS_SECONDS = 3600.0
CLEAN_UP_SECONDS = 3600.0
COUNT_SECONDS = 900.0
NEWCOMER_SECONDS = 10.0
NOTE_SECONDS = 60.0
OWNER_SECONDS = 30.0
PROGRESS_SECONDS = 3600.0
REVIEW_SECONDS = 20.0
SPEED_SECONDS = 300.0
WORKER_TOKENS_SECONDS = 600.0

Work = Callable[[], Awaitable[None]]


@runs(Domain.THREAD, "files are listed and removed in threads, rows are awaited")
async def sweep_uploads(site: Site) -> None:
    """Remove uploaded files that no row refers to."""
    await site.programs.sweep()
    await site.books.sweep()
    await site.documents.sweep()


@runs(Domain.THREAD, "a mark is read from the storage in a thread")
async def look_at_owner(site: Site) -> None:
    """Find out which site the files belong to. The primary marks a place that has no mark."""
    await site.file_owners.look(writes=site.is_primary())


@runs(Domain.THREAD, "files are listed and removed in threads")
async def sweep_archives(site: Site) -> None:
    """Remove archives that are no longer used."""
    await site.archives.clean_up()


@dataclass(frozen=True, slots=True)
class DeclaredJob:
    """A job of every site: the part that declares where it runs, the function that makes its work
    for one site, and which of several processes run it, with the reason."""

    name: str
    seconds: float
    where: JobPlace
    why: str
    part: object
    work: Callable[[Site], Work]


PRIMARY, ANY = JobPlace.PRIMARY, JobPlace.ANY
MEMORY = "works on the primary's memory"
ONCE = "done once for all processes"
OWN = "each process has its own"

JOBS = (
    DeclaredJob("front end", TICK_SECONDS, ANY, OWN, FrontEnd, lambda site: site.front_end),
    DeclaredJob(
        "listening",
        TICK_SECONDS,
        ANY,
        "notes when this process could hear nobody",
        Reachability,
        lambda site: site.reachability,
    ),
    DeclaredJob(
        "dead tasks",
        60,
        PRIMARY,
        MEMORY,
        FleetJobs.end_dead_tasks,
        lambda site: site.fleet_jobs.end_dead_tasks,
    ),
    DeclaredJob(
        "stalled tasks",
        60,
        PRIMARY,
        MEMORY,
        FleetJobs.end_stalled_tasks,
        lambda site: site.fleet_jobs.end_stalled_tasks,
    ),
    DeclaredJob(
        "shares",
        60,
        PRIMARY,
        MEMORY,
        FleetJobs.refresh_shares,
        lambda site: site.fleet_jobs.refresh_shares,
    ),
    DeclaredJob(
        "speeds",
        60,
        PRIMARY,
        MEMORY,
        FleetJobs.measure_speeds,
        lambda site: site.fleet_jobs.measure_speeds,
    ),
    DeclaredJob(
        "residuals",
        60,
        PRIMARY,
        MEMORY,
        FleetJobs.judge_tasks,
        lambda site: site.fleet_jobs.judge_tasks,
    ),
    DeclaredJob(
        "newcomers",
        NEWCOMER_SECONDS,
        PRIMARY,
        MEMORY,
        FleetJobs.look_up_newcomers,
        lambda site: site.fleet_jobs.look_up_newcomers,
    ),
    DeclaredJob(
        "waiting machines",
        60,
        PRIMARY,
        MEMORY,
        FleetJobs.count_waiting,
        lambda site: site.fleet_jobs.count_waiting,
    ),
    DeclaredJob(
        "last seen",
        60,
        PRIMARY,
        MEMORY,
        FleetJobs.write_last_seen,
        lambda site: site.fleet_jobs.write_last_seen,
    ),
    DeclaredJob(
        "sums", 180, PRIMARY, MEMORY, FleetJobs.check_sums, lambda site: site.fleet_jobs.check_sums
    ),
    DeclaredJob(
        "machines",
        300,
        PRIMARY,
        MEMORY,
        FleetJobs.forget_machines,
        lambda site: site.fleet_jobs.forget_machines,
    ),
    DeclaredJob(
        "fleet activity",
        PUBLISH_SECONDS,
        ANY,
        "the primary publishes what only its memory has, the others read it",
        ActivityKeeping,
        lambda site: site.activity_keeping,
    ),
    DeclaredJob(
        "games", CLEAN_UP_SECONDS, PRIMARY, ONCE, FileStore.sweep, lambda site: site.games.sweep
    ),
    DeclaredJob(
        "logs", CLEAN_UP_SECONDS, PRIMARY, ONCE, FileStore.sweep, lambda site: site.logs.sweep
    ),
    DeclaredJob(
        "user statistics", COUNT_SECONDS, PRIMARY, ONCE, Accounting, lambda site: site.accounting
    ),
    DeclaredJob(
        "reviews of runs",
        REVIEW_SECONDS,
        PRIMARY,
        ONCE,
        Reviews.look_at_unfinished,
        lambda site: site.reviews.look_at_unfinished,
    ),
    DeclaredJob(
        "official books",
        BOOKS_SECONDS,
        ANY,
        "the primary fetches the list, the others read what it wrote",
        OfficialBookList.keep_current,
        lambda site: site.official_books.keep_current,
    ),
    DeclaredJob(
        "progress of engines",
        PROGRESS_SECONDS,
        PRIMARY,
        ONCE,
        ProgressKeeping.keep_current,
        lambda site: site.progress_keeping.keep_current,
    ),
    DeclaredJob(
        "speeds of engines",
        SPEED_SECONDS,
        ANY,
        "the primary writes what it was told, the others read it",
        SpeedKeeping,
        lambda site: site.speed_keeping,
    ),
    DeclaredJob(
        "users and tokens of workers",
        REREAD_SECONDS,
        ANY,
        OWN,
        WorkerCredentials.reread_callers,
        lambda site: site.credentials.reread_callers,
    ),
    DeclaredJob(
        "last uses of tokens",
        NOTE_SECONDS,
        ANY,
        OWN,
        Bearers.flush,
        lambda site: site.bearers.flush,
    ),
    DeclaredJob(
        "last uses of workers' tokens",
        WORKER_TOKENS_SECONDS,
        ANY,
        OWN,
        WorkerTokens.note_uses,
        lambda site: site.credentials.tokens.note_uses,
    ),
    DeclaredJob(
        "uploads without a row",
        CLEAN_UP_SECONDS,
        PRIMARY,
        ONCE,
        sweep_uploads,
        lambda site: partial(sweep_uploads, site),
    ),
    DeclaredJob(
        "archives of sources",
        CLEAN_UP_SECONDS,
        ANY,
        OWN,
        sweep_archives,
        lambda site: partial(sweep_archives, site),
    ),
    DeclaredJob(
        "nets without a row",
        CLEAN_UP_SECONDS,
        PRIMARY,
        ONCE,
        FileStore.sweep,
        lambda site: site.nets.sweep,
    ),
    DeclaredJob(
        "downloads of nets",
        NOTE_SECONDS,
        ANY,
        OWN,
        NetStore.write_downloads,
        lambda site: site.nets.write_downloads,
    ),
    DeclaredJob(
        "notifications",
        SEND_SECONDS,
        PRIMARY,
        ONCE,
        Sender.send_due,
        lambda site: site.sender.send_due,
    ),
    DeclaredJob(
        "old notifications",
        CLEAN_UP_SECONDS,
        PRIMARY,
        ONCE,
        Sender.forget_old,
        lambda site: site.sender.forget_old,
    ),
    DeclaredJob(
        "documents",
        READ_SECONDS,
        PRIMARY,
        ONCE,
        Uploads.read_waiting,
        lambda site: site.documents.read_waiting,
    ),
    DeclaredJob("ask index", INDEX_SECONDS, PRIMARY, ONCE, Indexer, lambda site: site.indexer),
    DeclaredJob(
        "ask histories",
        HISTORY_SECONDS,
        PRIMARY,
        ONCE,
        HistoryKeeping,
        lambda site: site.history_keeping,
    ),
    DeclaredJob(
        "conversations",
        CLEAN_UP_SECONDS,
        PRIMARY,
        ONCE,
        ChatSessions.sweep,
        lambda site: site.ask.chats.sweep,
    ),
    DeclaredJob(
        "storage of files",
        TICK_SECONDS,
        ANY,
        OWN,
        StorageHealth.probe,
        lambda site: site.storage_health.probe,
    ),
    DeclaredJob(
        "owner of the files",
        OWNER_SECONDS,
        ANY,
        "the primary marks a place without a mark, the others look",
        look_at_owner,
        lambda site: partial(look_at_owner, site),
    ),
    DeclaredJob("disk", TICK_SECONDS, ANY, OWN, Disk.measure, lambda site: site.disk.measure),
    DeclaredJob(
        "memory",
        TICK_SECONDS,
        ANY,
        OWN,
        GrownMemory,
        lambda site: GrownMemory(site.threads, site.log),
    ),
)
"""All jobs, in the order in which they are listed."""


def make_jobs(site: Site) -> tuple[PeriodicJob, ...]:
    """The jobs of one site."""
    return tuple(PeriodicJob(job.name, job.seconds, job.work(site), job.where) for job in JOBS)
