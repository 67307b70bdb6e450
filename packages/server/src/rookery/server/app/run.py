"""Runs a server process with its log writer and event loop, and with detection of blocking calls if
wanted."""

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from rookery.core.boundary.offload import Threads
from rookery.core.errors import Complaint
from rookery.server.app.build import Prepare, new_process, open_app, prepare_nothing
from rookery.server.boundary import detect
from rookery.server.boundary.detect import Violation
from rookery.server.carriers.server import DEFAULT_STOP_TIMES, StopTimes, choose_backend
from rookery.server.carriers.server import serve as serve_site
from rookery.server.carriers.serving import ListenAddress
from rookery.server.logs import Log, logger, start_logs
from rookery.server.settings import Settings

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
