"""One serving process: its log writer, its event loop, and blocking calls detected if wished."""

import asyncio
import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TextIO

from rookery.app.build import Prepare, new_process, open_app, prepare_nothing
from rookery.boundary import detect
from rookery.boundary.detect import Violation
from rookery.boundary.offload import Threads
from rookery.errors import Complaint
from rookery.logs import Log, logger, start_logs
from rookery.settings import Settings
from rookery.web.server import DEFAULT_PATIENCE, Patience, choose, serve
from rookery.web.serving import Place

COLLECTED_AFTER = (100_000, 50, 100)


class NoDetector(Complaint):
    """Detection needs a package that only the tests install."""


def run_site(
    settings: Settings,
    prepare: Prepare = prepare_nothing,
    ready: Callable[[str], object] = lambda _address: None,
    leave: Callable[[], object] = lambda: None,
    patience: Patience = DEFAULT_PATIENCE,
    log_to: TextIO | None = None,
) -> int:
    """Serves until a signal, and gives the exit code.

    `ready` is told the address, `leave` is called before the server stops; both in threads.
    """
    writer = start_logs(log_to, style=settings.log_format, level=settings.log_level)
    log = logger()
    process = new_process(settings, log)
    carrier = choose(settings.http, log)
    starter = _Starter(process.threads, ready, leave)

    def say(address: str) -> None:
        collect_rarely()
        log.info("ready", address=address, http=carrier.name)
        starter.say(address)

    async def serving() -> int:
        return await serve(
            open_app(settings, process, prepare),
            process,
            Place(settings.host, settings.port),
            carrier,
            say=say,
            farewell=writer.stop,
            patience=patience,
            see_off=starter.see_off,
        )

    # Only Python's own loop can be watched closely.
    factory = None if settings.detect_blocking else carrier.new_loop
    try:
        with detection(settings, log), asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(serving())
    finally:
        writer.stop()


@dataclass(frozen=True, slots=True)
class _Starter:
    """Whoever started the process, told in threads: a terminal or pipe that nobody reads may hold
    the printer up."""

    threads: Threads
    ready: Callable[[str], object]
    leave: Callable[[], object]
    told: list[asyncio.Future[object]] = field(default_factory=list)

    def say(self, address: str) -> None:
        self.told.append(asyncio.ensure_future(self.threads.io(self.ready, address)))

    async def see_off(self) -> None:
        await asyncio.gather(*self.told, return_exceptions=True)
        await self.threads.io(self.leave)


def collect_rarely() -> None:
    """The working set lives as long as the process and holds no cycles. Looking through it again
    and again costs up to a tenth of a worker's call, and every full look holds the loop up."""
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


@contextlib.contextmanager
def detection(settings: Settings, log: Log) -> Iterator[None]:
    """Blocking calls on the loop are logged and refused while it lasts, when asked for."""
    if not settings.detect_blocking:
        yield
        return

    def tell(violation: Violation) -> None:
        log.error("loop_violation", kind=violation.kind, what=violation.what, stack=violation.stack)

    try:
        detected = detect.install(tell)
    except ImportError:
        raise NoDetector(
            "ROOKERY_DETECT_BLOCKING needs the package blockbuster, which scripts/test installs."
        ) from None
    try:
        yield
    finally:
        detected.uninstall()
