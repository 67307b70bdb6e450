"""Builds a worker from its settings, runs it, and shows what it does."""

import asyncio
import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rookery.core import __version__
from rookery.core.boundary.offload import Threads
from rookery.core.command import BadArgument
from rookery.match.fastchess import find_fastchess
from rookery.worker.commands.settings import WorkerSettings, credentials
from rookery.worker.engines.bench import bench
from rookery.worker.engines.workshop import Workshop
from rookery.worker.identity import (
    MachineFacts,
    WorkerIdentity,
    WorkerOffer,
    claim_instance,
    survey_machine,
    unique_key,
)
from rookery.worker.matches import BUILTIN, FASTCHESS
from rookery.worker.preparing import (
    BookCache,
    EngineMaker,
    EnginePreparation,
    RoundOutcome,
    ServerDownloads,
    WorkerContext,
)
from rookery.worker.renewal.renewal import Renewal, installed_here
from rookery.worker.reporting import ROOKERY_RETRIES, RetryPolicy
from rookery.worker.sandbox.sandbox import Sandbox
from rookery.worker.server import HttpTransport, ServerCalls, WorkerAccount
from rookery.worker.session import SessionOptions, WorkerSession
from rookery.worker.stopping import Stop, Watcher, WorkerStatus
from rookery.worker.system import System, ThisSystem, parse_cores, parse_memory

EXIT_CODES = {
    RoundOutcome.DONE: 0,
    RoundOutcome.STOPPED: 0,
    RoundOutcome.IDLE: 3,
    RoundOutcome.RUN_FAULT: 4,
    RoundOutcome.SERVER_FAULT: 5,
    RoundOutcome.MACHINE_FAULT: 6,
}
OFFICIAL_MIB, OFFICIAL_GAME_MIB = 444, 396
"""The memory in MiB that the official worker assumes: once, and for each core."""
_KEY = re.compile(r"[0-9A-Za-z]{2,8}")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker ended, and the program to start in its place, if any."""

    outcome: RoundOutcome
    successor: Path | None = None


async def start(settings: WorkerSettings, words: Sequence[str], watch: Watcher) -> Ended:
    """Run a worker until it ends. `words` are the words of its command line."""
    system, threads = ThisSystem(), Threads()
    stop = Stop(settings.grace)
    system.on_stop(asyncio.get_running_loop(), stop.ask)
    if settings.nice:
        system.lower_priority()
    try:
        context = await make_context(settings, system, stop, threads, watch)
        watch.say(introduction(context))
        apply_sandbox(await context.workshop.sandbox(), settings, context.identity, watch.say)
        preparation = EnginePreparation(context.workshop, bench)
        renewal = await threads.io(make_renewal, settings, context, words)
        life = WorkerSession(context, preparation, session_options(settings), renewal)
        outcome = await life.run()
        return Ended(
            outcome, renewal.installed.place.launcher if renewal and life.renewed else None
        )
    finally:
        system.release()


def apply_sandbox(
    sandbox: Sandbox,
    settings: WorkerSettings,
    identity: WorkerIdentity,
    say: Callable[[str], object],
) -> None:
    """Decide by the sandbox which engines the worker plays, and print it. Raises BadArgument.

    Another project's server has only programs of strangers.
    """
    identity.sandbox = sandbox.available
    identity.bundled_only = not sandbox.takes_strangers
    if identity.bundled_only and settings.foreign_server:
        raise BadArgument(sandbox.refusal)
    if identity.bundled_only:
        say(f"{sandbox.refusal} Until then it plays the bundled engine alone.")
    elif not sandbox.available:
        say(f"Other people's programs run without a sandbox on this machine. {sandbox.why}")


async def make_context(  # noqa: PLR0913 - tests give the last two
    settings: WorkerSettings,
    system: System,
    stop: Stop,
    threads: Threads,
    watch: Watcher,
    look: Callable[[System], MachineFacts] = survey_machine,
    workshop: EngineMaker | None = None,
) -> WorkerContext:
    """Create all parts of a worker. Raises BadArgument."""
    if not settings.server:
        raise BadArgument("Give --server, or run `rookery worker configure`.")
    username, password = await threads.io(credentials, settings)
    transport = HttpTransport(settings.server, private=settings.allow_private_sources)
    server = ServerCalls(transport, WorkerAccount(username, password))
    folder = settings.cache_folder
    try:
        instance = await threads.io(claim_instance, system, folder / "workers")
    except OSError as error:
        raise BadArgument(f"The cache {folder} can't be used: {error.strerror}.") from None
    identity = await threads.io(make_identity, settings, system, username, instance, look)
    downloads = ServerDownloads(server, threads, watch, _patience(settings))
    downloads.foreign = settings.foreign_server
    return WorkerContext(
        server=server,
        identity=identity,
        workshop=await threads.io(_workshop, settings, downloads) if workshop is None else workshop,
        books=BookCache(folder / "books", downloads, threads),
        scratch=folder / "workers" / f"{system.host_name()}-{instance}",
        stop=stop,
        threads=threads,
        watch=watch,
        nodes=await threads.io(system.numa_nodes),
        syzygy=settings.syzygy,
        fastchess=await threads.io(_fastchess, settings),
        patience=_patience(settings),
    )


def introduction(context: WorkerContext) -> str:
    """Return a worker's first line: its name, its server and the runner that it plays with."""
    offer, head = context.identity.offer, context.identity.key.partition("-")[0]
    name = f"{offer.username}-{offer.concurrency}cores-{head}"
    much = "1 core" if offer.concurrency == 1 else f"{offer.concurrency} cores"
    server = context.server.transport.server
    place = f"plays for {server} on {much} and {offer.memory_mib} MiB"
    return f"{name}, Rookery {__version__}, {place}"


def _workshop(settings: WorkerSettings, downloads: ServerDownloads) -> Workshop:
    return Workshop(
        settings.cache_folder,
        downloads,
        without_sandbox=settings.without_sandbox,
        private_sources=settings.allow_private_sources,
    )


def make_renewal(
    settings: WorkerSettings, context: WorkerContext, words: Sequence[str]
) -> Renewal | None:
    """Return the updater of the worker; None if it must not be updated."""
    installed = None if settings.foreign_server else installed_here()
    if installed is None:
        return None
    return Renewal(
        installed,
        context.server.transport,
        context.threads,
        context.watch.say,
        words,
        lambda text: context.server.log(context.identity.info, None, text),
        stays=settings.no_update,
        allow_http=settings.allow_http,
    )


def session_options(settings: WorkerSettings) -> SessionOptions:
    return SessionOptions(
        once=settings.once,
        fleet=settings.fleet,
        foreign=settings.foreign_server,
        trial=settings.trial,
        first_seconds=settings.retry_seconds,
    )


def make_identity(
    settings: WorkerSettings,
    system: System,
    username: str,
    instance: int,
    look: Callable[[System], MachineFacts] = survey_machine,
) -> WorkerIdentity:
    """Return what the worker reports about itself. It examines the machine, so call it in a
    thread."""
    if settings.key and not _KEY.fullmatch(settings.key):
        raise BadArgument("--key is 2 to 8 letters or digits.")
    memory = parse_memory(settings.memory, system)
    offer = WorkerOffer(
        username=username,
        concurrency=_cores(settings, memory, system),
        memory_mib=memory,
        min_threads=settings.min_threads,
        noisy=settings.noisy,
        not_noisy=settings.not_noisy,
        focus=settings.focus,
        only=settings.only,
        syzygy_men=settings.syzygy_men if settings.syzygy else 0,
    )
    key = unique_key(system, settings.cache_folder, instance, settings.key)
    runner = FASTCHESS if settings.foreign_server else BUILTIN
    return WorkerIdentity(offer, look(system), key, runner=runner)


def _cores(settings: WorkerSettings, memory: int, system: System) -> int:
    """Return the number of cores to play on. For another project's server its games must fit into
    the memory."""
    wanted = parse_cores(settings.concurrency, system)
    if not settings.foreign_server:
        return wanted
    return max(1, min(wanted, (memory - OFFICIAL_MIB) // OFFICIAL_GAME_MIB))


def _fastchess(settings: WorkerSettings) -> str:
    if not settings.foreign_server:
        return ""
    found = find_fastchess(settings.fastchess)
    if found is None or not found.is_recent:
        raise BadArgument("--foreign-server needs fastchess 1.4 or later on the PATH.")
    return found.path


def _patience(settings: WorkerSettings) -> RetryPolicy:
    attempts = RetryPolicy().attempts if settings.foreign_server else ROOKERY_RETRIES.attempts
    return RetryPolicy(attempts, settings.retry_seconds)


# Displays of a worker: a status line on a terminal, plain lines with the time elsewhere.


def line(status: WorkerStatus) -> str:
    """Return a status as one line."""
    if not status.games:
        return f"{status.run}: {status.doing}" if status.run else status.doing
    found = status.results
    counts = f"+{found.wins} -{found.losses} ={found.draws}"
    pairs = " ".join(map(str, found.pentanomial))
    troubles = found.crashes + found.time_losses
    failed = f", {troubles} lost by failure" if troubles else ""
    played = f"{found.games} of {status.games} games"
    return f"{status.run}: {status.doing}, {played}, {counts}, pairs {pairs}{failed}"


class PlainDisplay:
    """For logs: prints sentences as they come, and the status when the activity changes."""

    def __init__(self, write: Callable[[str], object], now: Callable[[], datetime]) -> None:
        self._write = write
        self._now = now
        self._shown = WorkerStatus("")

    def say(self, sentence: str) -> None:
        self._write(f"{self._now():%H:%M:%S} {sentence}")

    def show(self, status: WorkerStatus) -> None:
        last, self._shown = self._shown, status
        if (status.doing, status.run) != (last.doing, last.run):
            self.say(line(status))


class LiveDisplay:
    """For people: sentences scroll above one line with the current status."""

    def __init__(self, console: Console, now: Callable[[], datetime]) -> None:
        self._console = console
        self._now = now
        self._status = WorkerStatus("starting")

    def say(self, sentence: str) -> None:
        self._console.print(Text(f"{self._now():%H:%M:%S} {sentence}"))

    def show(self, status: WorkerStatus) -> None:
        self._status = status

    def render(self) -> Text:
        return Text(line(self._status), style="bold", no_wrap=True, overflow="ellipsis")


@contextlib.contextmanager
def display() -> Iterator[Watcher]:
    """Yield the display that fits the output."""
    if not sys.stdout.isatty():
        yield PlainDisplay(lambda text: print(text, flush=True), datetime.now)
        return
    console = Console()
    shown = LiveDisplay(console, datetime.now)
    with Live(console=console, get_renderable=shown.render, refresh_per_second=2, transient=True):
        yield shown
