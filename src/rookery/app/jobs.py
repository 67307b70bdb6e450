"""What a site does by itself while it serves."""

from functools import partial

from rookery.boundary.domains import Domain, runs
from rookery.farm.jobs import TICK_SECONDS, PeriodicJob, jobs_of
from rookery.farm.statistics import Accounting
from rookery.web.site import Site

CLEAN_UP_SECONDS = 3600.0
COUNT_SECONDS = 900.0
NOTE_SECONDS = 60.0
SPEED_SECONDS = 300.0


def make_jobs(site: Site) -> tuple[PeriodicJob, ...]:
    """The jobs of a site, in the order in which they are listed."""
    settings = site.settings
    # Who may look only with an account uses it by looking, which leaves no trace.
    idle_days = 0 if settings.login_to_view else settings.idle_account_days
    counting = Accounting(site.statistics, site.reads, site.clock, idle_days=idle_days)
    return (
        *jobs_of(site.fleet, site.is_primary),
        PeriodicJob("games", CLEAN_UP_SECONDS, site.games.sweep),
        PeriodicJob("logs", CLEAN_UP_SECONDS, site.logs.sweep),
        PeriodicJob("user statistics", COUNT_SECONDS, counting),
        PeriodicJob("speeds of engines", SPEED_SECONDS, site.speed_keeping),
        PeriodicJob("last uses of tokens", NOTE_SECONDS, site.bearers.flush),
        PeriodicJob("uploads without a row", CLEAN_UP_SECONDS, partial(sweep_uploads, site)),
        PeriodicJob("nets without a row", CLEAN_UP_SECONDS, site.nets.sweep),
        PeriodicJob("downloads of nets", NOTE_SECONDS, site.nets.write_downloads),
        PeriodicJob("disk", TICK_SECONDS, site.disk.look),
    )


@runs(Domain.THREAD, "files are listed and removed in threads, rows are awaited")
async def sweep_uploads(site: Site) -> None:
    """Removes files that no row ever came to name, and archives that nobody asks for."""
    await site.programs.sweep()
    await site.books.sweep()
    await site.archives.clean_up()
