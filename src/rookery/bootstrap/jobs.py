"""What the process does by itself: the event bus and the jobs, as steps of the upper floor."""

from functools import partial

from rookery.bootstrap.desks import Desks
from rookery.service.events import Bus
from rookery.service.fleet.jobs import Job, jobs_of, working_off
from rookery.service.orphans import swept
from rookery.service.statistics import Accounting
from rookery.settings import Settings
from rookery.web.house import Basis
from rookery.web.steps import Opened, Step, opening

CLEAN_UP_SECONDS = 3600.0
COUNT_SECONDS = 900.0
NOTE_SECONDS = 60.0
SPEED_SECONDS = 300.0


def event_step(desks: Desks) -> Step:
    """The bus on which live pages and streams hang."""
    place: Opened[Bus] = Opened("the event bus")
    why = "remembers what changed last; after a gap it awaits the rows"
    return opening(place, "events", why, desks.api.bus.opened)


def all_jobs(settings: Settings, desks: Desks) -> tuple[Job, ...]:
    """What is done by itself while the process serves."""
    workers, api = desks.workers, desks.api
    # Who may look only with an account uses it by looking, which leaves no trace.
    idle_days = 0 if settings.login_to_view else settings.idle_account_days
    counting = Accounting(api.statistics, api.reads, api.clock, idle_days=idle_days)
    sweep_nets = partial(swept, api.net_files, api.nets, api.threads)
    return (
        *jobs_of(desks.fleet, workers.is_primary),
        Job("games", CLEAN_UP_SECONDS, workers.pgns.clean_up),
        Job("logs", CLEAN_UP_SECONDS, workers.logs.clean_up),
        Job("user statistics", COUNT_SECONDS, counting),
        Job("speeds of engines", SPEED_SECONDS, desks.speeds),
        Job("last uses of tokens", NOTE_SECONDS, api.bearers.flush),
        Job("uploads without a row", CLEAN_UP_SECONDS, api.sources.clean_up),
        Job("nets without a row", CLEAN_UP_SECONDS, sweep_nets),
        Job("downloads of nets", NOTE_SECONDS, api.downloads.flush),
    )


def job_step(basis: Basis, desks: Desks, jobs: tuple[Job, ...]) -> Step:
    """The jobs, until the process begins to stop."""
    place: Opened[None] = Opened("the jobs")
    return opening(
        place,
        "fleet jobs",
        "slices of a few milliseconds; files are removed in threads",
        lambda: working_off(desks.fleet, jobs, basis.log, desks.api.is_outage),
        before_drain=True,
    )
