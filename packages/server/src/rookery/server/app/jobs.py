"""The periodic jobs that a site runs while it serves."""

from collections.abc import Awaitable, Callable
from functools import partial
from operator import attrgetter
from typing import NamedTuple

from rookery.server.app.front_end import FrontEnd
from rookery.server.app.memory import GrownMemory
from rookery.server.app.site import Site
from rookery.server.ask.history import HISTORY_SECONDS, HistoryKeeping
from rookery.server.ask.indexing import INDEX_SECONDS, Indexer
from rookery.server.ask.sessions import ChatSessions
from rookery.server.ask.uploads import READ_SECONDS, Uploads
from rookery.server.boundary.domains import Domain, runs
from rookery.server.disk import Disk
from rookery.server.farm.activity import PUBLISH_SECONDS, ActivityKeeping
from rookery.server.farm.jobs import TICK_SECONDS, FleetJobs, JobPlace, PeriodicJob, Reachability
from rookery.server.farm.statistics import Accounting, SpeedKeeping
from rookery.server.files.engine_files import NetStore
from rookery.server.files.storage_health import StorageHealth
from rookery.server.files.store import FileStore
from rookery.server.identity.bearers import Bearers
from rookery.server.identity.worker_credentials import REREAD_SECONDS, WorkerCredentials
from rookery.server.identity.worker_tokens import WorkerTokens
from rookery.server.notify.sending import SEND_SECONDS, Sender
from rookery.server.sources.official_books import OfficialBookList
from rookery.server.sources.progress import ProgressKeeping
from rookery.server.sources.reviews import Reviews

HOUR = 3600.0
COUNT_SECONDS = 900.0
NEWCOMER_SECONDS = 10.0
NOTE_SECONDS = 60.0
OWNER_SECONDS = 30.0
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


class Job(NamedTuple):
    """A job of every site: which of several processes run it, with the reason; the method or the
    class that does the work and declares where it runs; and the place of its object in a site."""

    name: str
    seconds: float
    where: JobPlace
    why: str
    part: Callable[..., Awaitable[None]] | type
    place: str

    def work(self, site: Site) -> Work:
        """Its work for one site."""
        if not self.place:
            return partial(self.part, site)
        found = attrgetter(self.place)(site)
        work: Work = found if isinstance(self.part, type) else getattr(found, self.part.__name__)
        return work


PRIMARY, ANY = JobPlace.PRIMARY, JobPlace.ANY
MEMORY = "works on the primary's memory"
ONCE = "done once for all processes"
OWN = "each process has its own"

JOBS = (
    Job("front end", TICK_SECONDS, ANY, OWN, FrontEnd, "front_end"),
    Job(
        "listening",
        TICK_SECONDS,
        ANY,
        "notes when this process could hear nobody",
        Reachability,
        "reachability",
    ),
    Job("dead tasks", 60, PRIMARY, MEMORY, FleetJobs.end_dead_tasks, "fleet_jobs"),
    Job("stalled tasks", 60, PRIMARY, MEMORY, FleetJobs.end_stalled_tasks, "fleet_jobs"),
    Job("shares", 60, PRIMARY, MEMORY, FleetJobs.refresh_shares, "fleet_jobs"),
    Job("speeds", 60, PRIMARY, MEMORY, FleetJobs.measure_speeds, "fleet_jobs"),
    Job("residuals", 60, PRIMARY, MEMORY, FleetJobs.judge_tasks, "fleet_jobs"),
    Job("newcomers", NEWCOMER_SECONDS, PRIMARY, MEMORY, FleetJobs.look_up_newcomers, "fleet_jobs"),
    Job("waiting machines", 60, PRIMARY, MEMORY, FleetJobs.count_waiting, "fleet_jobs"),
    Job("last seen", 60, PRIMARY, MEMORY, FleetJobs.write_last_seen, "fleet_jobs"),
    Job("sums", 180, PRIMARY, MEMORY, FleetJobs.check_sums, "fleet_jobs"),
    Job("machines", 300, PRIMARY, MEMORY, FleetJobs.forget_machines, "fleet_jobs"),
    Job(
        "fleet activity",
        PUBLISH_SECONDS,
        ANY,
        "the primary publishes what only its memory has, the others read it",
        ActivityKeeping,
        "activity_keeping",
    ),
    Job("games", HOUR, PRIMARY, ONCE, FileStore.sweep, "games"),
    Job("logs", HOUR, PRIMARY, ONCE, FileStore.sweep, "logs"),
    Job("user statistics", COUNT_SECONDS, PRIMARY, ONCE, Accounting, "accounting"),
    Job("reviews of runs", REVIEW_SECONDS, PRIMARY, ONCE, Reviews.look_at_unfinished, "reviews"),
    Job(
        "official books",
        HOUR,
        ANY,
        "the primary fetches the list, the others read what it wrote",
        OfficialBookList.keep_current,
        "official_books",
    ),
    Job(
        "progress of engines",
        HOUR,
        PRIMARY,
        ONCE,
        ProgressKeeping.keep_current,
        "progress_keeping",
    ),
    Job(
        "speeds of engines",
        SPEED_SECONDS,
        ANY,
        "the primary writes what it was told, the others read it",
        SpeedKeeping,
        "speed_keeping",
    ),
    Job(
        "users and tokens of workers",
        REREAD_SECONDS,
        ANY,
        OWN,
        WorkerCredentials.reread_callers,
        "credentials",
    ),
    Job("last uses of tokens", NOTE_SECONDS, ANY, OWN, Bearers.flush, "bearers"),
    Job(
        "last uses of workers' tokens",
        WORKER_TOKENS_SECONDS,
        ANY,
        OWN,
        WorkerTokens.note_uses,
        "credentials.tokens",
    ),
    Job("uploads without a row", HOUR, PRIMARY, ONCE, sweep_uploads, ""),
    Job("archives of sources", HOUR, ANY, OWN, sweep_archives, ""),
    Job("nets without a row", HOUR, PRIMARY, ONCE, FileStore.sweep, "nets"),
    Job("downloads of nets", NOTE_SECONDS, ANY, OWN, NetStore.write_downloads, "nets"),
    Job("notifications", SEND_SECONDS, PRIMARY, ONCE, Sender.send_due, "sender"),
    Job("old notifications", HOUR, PRIMARY, ONCE, Sender.forget_old, "sender"),
    Job("documents", READ_SECONDS, PRIMARY, ONCE, Uploads.read_waiting, "documents"),
    Job("ask index", INDEX_SECONDS, PRIMARY, ONCE, Indexer, "indexer"),
    Job("ask histories", HISTORY_SECONDS, PRIMARY, ONCE, HistoryKeeping, "history_keeping"),
    Job("conversations", HOUR, PRIMARY, ONCE, ChatSessions.sweep, "ask.chats"),
    Job("storage of files", TICK_SECONDS, ANY, OWN, StorageHealth.probe, "storage_health"),
    Job(
        "owner of the files",
        OWNER_SECONDS,
        ANY,
        "the primary marks a place without a mark, the others look",
        look_at_owner,
        "",
    ),
    Job("disk", TICK_SECONDS, ANY, OWN, Disk.measure, "disk"),
    Job("memory", TICK_SECONDS, ANY, OWN, GrownMemory, "memory"),
)
"""All jobs, in the order in which they are listed."""


def make_jobs(site: Site) -> tuple[PeriodicJob, ...]:
    """The jobs of one site."""
    return tuple(PeriodicJob(job.name, job.seconds, job.work(site), job.where) for job in JOBS)
