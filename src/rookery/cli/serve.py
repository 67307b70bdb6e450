"""`rookery serve`: runs a server process with its log writer and event loop, and with detection of
blocking calls if wanted."""

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, TextIO

from cyclopts import Parameter

from rookery.app.build import Prepare, new_process, open_app, prepare_nothing
from rookery.boundary import detect
from rookery.boundary.detect import Violation
from rookery.boundary.offload import Threads
from rookery.cli.db import SETTINGS_GROUP, DatabaseSettings, setting, switch
from rookery.cli.options import as_words, option
from rookery.cli.systemd import server_unit, tell_service_manager
from rookery.errors import Complaint
from rookery.files.places import shared_folders
from rookery.logs import Log, logger, start_logs
from rookery.settings import Settings
from rookery.web.server import DEFAULT_STOP_TIMES, StopTimes, choose_backend
from rookery.web.server import serve as serve_site
from rookery.web.serving import ListenAddress


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
    return run_site(
        settings,
        ready=lambda _address: tell_service_manager("READY=1"),
        leave=lambda: tell_service_manager("STOPPING=1"),
    )


COLLECTED_AFTER = (20_000, 10, 2_500)
"""Thresholds of the garbage collector. The oldest generation, which has the working set, is hardly
ever examined; the others in small portions. Examining the rest of 5,000,000 new objects took 0.4 s,
during which no request was answered."""


def run_site(
    settings: Settings,
    prepare: Prepare = prepare_nothing,
    ready: Callable[[str], object] = lambda _address: None,
    leave: Callable[[], object] = lambda: None,
    stop_times: StopTimes = DEFAULT_STOP_TIMES,
    log_to: TextIO | None = None,
) -> int:
    """Serve until a signal, and return the exit code.

    `ready` is called with the address, `leave` before the server stops; both in threads.
    """
    writer = start_logs(log_to, style=settings.log_format, level=settings.log_level)
    log = logger()
    process = new_process(settings, log)
    backend = choose_backend(settings.http, log)
    starter = _Starter(process.threads, ready, leave)

    def say(address: str) -> None:
        collect_rarely()
        log.info("ready", address=address, http=backend.name)
        starter.say(address)

    async def serving() -> int:
        return await serve_site(
            open_app(settings, process, prepare),
            process,
            ListenAddress(settings.host, settings.port),
            backend,
            say=say,
            farewell=writer.stop,
            stop_times=stop_times,
            before_stop=starter.before_stop,
        )

    # Long callbacks can be detected only on Python's own loop.
    factory = None if settings.detect_blocking else backend.new_loop
    try:
        with detection(settings, log), asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(serving())
    finally:
        writer.stop()


@dataclass(frozen=True, slots=True)
class _Starter:
    """Runs the callbacks of the process's starter in threads, because a terminal that nobody reads
    may block them."""

    threads: Threads
    ready: Callable[[str], object]
    leave: Callable[[], object]
    told: list[asyncio.Future[object]] = field(default_factory=list)

    def say(self, address: str) -> None:
        self.told.append(asyncio.ensure_future(self.threads.io(self.ready, address)))

    async def before_stop(self) -> None:
        await asyncio.gather(*self.told, return_exceptions=True)
        await self.threads.io(self.leave)


def collect_rarely() -> None:
    """Keep the garbage collector away from the working set, which lives as long as the process and
    has no cycles. Examining it repeatedly takes up to a tenth of the time of a worker's call, and
    every full collection blocks the loop."""
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


@contextlib.contextmanager
def detection(settings: Settings, log: Log) -> Iterator[None]:
    """Log and refuse blocking calls on the loop during the block, if the settings ask for it."""
    if not settings.detect_blocking:
        yield
        return

    def tell(violation: Violation) -> None:
        log.error("loop_violation", kind=violation.kind, what=violation.what, stack=violation.stack)

    try:
        detected = detect.install(tell)
    except ImportError:
        raise Complaint(
            "ROOKERY_DETECT_BLOCKING needs the package blockbuster, which scripts/test installs."
        ) from None
    try:
        yield
    finally:
        detected.uninstall()
