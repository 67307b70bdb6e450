"""`rookery serve`: the flags of a server, and its start."""

from dataclasses import dataclass, replace
from typing import Annotated

from cyclopts import Parameter

from rookery.core.command import as_words, option
from rookery.core.service import tell_service_manager
from rookery.server.commands.db import SETTINGS_GROUP, DatabaseSettings, setting, switch
from rookery.server.commands.systemd import server_unit
from rookery.server.db.access import refuse_busy_folder
from rookery.server.files.places import shared_folders


@Parameter(name="*", group=SETTINGS_GROUP)
@dataclass(frozen=True, slots=True, kw_only=True)
class ServeSettings(DatabaseSettings):
    """The settings that the command line of a server accepts."""

    host: Annotated[str | None, setting("host")] = None
    port: Annotated[str | None, setting("port")] = None
    http: Annotated[str | None, setting("http")] = None
    base_url: Annotated[str | None, setting("base_url")] = None
    allowed_hosts: Annotated[str | None, setting("allowed_hosts")] = None
    trusted_proxies: Annotated[str | None, setting("trusted_proxies")] = None
    threadpool_tokens: Annotated[str | None, setting("threadpool_tokens")] = None
    task_semaphore_size: Annotated[str | None, setting("task_semaphore_size")] = None
    cross_approval: Annotated[str | None, setting("cross_approval")] = None
    stop_run_cpu_hours: Annotated[str | None, setting("stop_run_cpu_hours")] = None
    complaint_cpu_hours: Annotated[str | None, setting("complaint_cpu_hours")] = None
    complaint_days: Annotated[str | None, setting("complaint_days")] = None
    limit_per_address: Annotated[str | None, setting("limit_per_address")] = None
    cores_per_user: Annotated[str | None, setting("cores_per_user")] = None
    mind_github_quota: Annotated[str | None, setting("mind_github_quota")] = None
    nets_url: Annotated[str | None, setting("nets_url")] = None
    log_format: Annotated[str | None, setting("log_format")] = None
    log_level: Annotated[str | None, setting("log_level")] = None
    access_log: Annotated[bool, switch("access_log")] = False
    detect_blocking: Annotated[bool, switch("detect_blocking")] = False


NOTHING_SET = ServeSettings()


def serve(
    *,
    flags: ServeSettings = NOTHING_SET,
    print_systemd_unit: Annotated[
        bool, option("print a unit that keeps this server running, with these flags")
    ] = False,
) -> int:
    """Start the server, and an embedded PostgreSQL unless another one is named.

    Ctrl-C or SIGTERM stops both; SIGUSR1 writes every thread's stack to stderr.

    examples:

      rookery serve
      rookery serve --host 0.0.0.0 --base-url https://farm.example.org
      rookery serve --database-url postgresql://rookery@db.example.org/rookery
      rookery serve --data /srv/rookery-data --print-systemd-unit > rookery.service
    """
    settings = flags.read()
    if print_systemd_unit:
        data = settings.data.absolute()
        words = as_words(replace(flags, data=str(data)))
        print(server_unit(words, data, shared_folders(settings)), end="")
        return 0
    refuse_busy_folder(settings.data, settings.database_url)
    # Importing the server takes longer than finding out that another one runs here.
    from rookery.server.app.run import run_site

    return run_site(
        settings,
        ready=lambda _address: tell_service_manager("READY=1"),
        leave=lambda: tell_service_manager("STOPPING=1"),
    )
