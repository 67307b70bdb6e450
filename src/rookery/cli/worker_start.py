"""Puts a worker together from its settings, and lets it live."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rookery import __version__
from rookery.boundary.offload import Threads
from rookery.cli.worker_settings import BadWorkerSetting, WorkerSettings, credentials
from rookery.worker.engines.bench import bench
from rookery.worker.engines.sandbox.sandbox import Sandbox
from rookery.worker.engines.workshop import Workshop
from rookery.worker.fastchess.detection import find
from rookery.worker.renewal.renewal import Renewal, installed_here
from rookery.worker.session.backoff import FIRST_SECONDS
from rookery.worker.session.books import Books
from rookery.worker.session.conversation import Account, Conversation
from rookery.worker.session.downloads import ServerDownloads
from rookery.worker.session.identity import Facts, Identity, Offer, unique_key
from rookery.worker.session.kit import Kit, Maker, Outcome
from rookery.worker.session.life import Life, Manner
from rookery.worker.session.preparing import Preparation
from rookery.worker.session.reporting import HOUSE, Patience
from rookery.worker.session.runners import BUILTIN, FASTCHESS
from rookery.worker.session.stopping import Stop
from rookery.worker.session.surveying import instance_of, survey
from rookery.worker.session.transport import HttpTransport
from rookery.worker.session.watching import Watcher
from rookery.worker.system import System, ThisSystem
from rookery.worker.system.allotment import cores, memory_mib

EXIT_CODES = {
    Outcome.DONE: 0,
    Outcome.STOPPED: 0,
    Outcome.IDLE: 3,
    Outcome.RUN_FAULT: 4,
    Outcome.SERVER_FAULT: 5,
    Outcome.MACHINE_FAULT: 6,
}
OFFICIAL_MIB, OFFICIAL_GAME_MIB = 444, 396
"""What the official worker reckons with, once and for each core."""
_KEY = re.compile(r"[0-9A-Za-z]{2,8}")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a worker's life ended, and the program that is to go on in its place, if any."""

    outcome: Outcome
    successor: Path | None = None


async def start(settings: WorkerSettings, words: Sequence[str], watch: Watcher) -> Ended:
    """Live until the end; `words` are those of the command line."""
    system, threads = ThisSystem(), Threads()
    stop = Stop(settings.grace)
    system.on_stop(asyncio.get_running_loop(), stop.ask)
    if settings.nice:
        system.be_modest()
    try:
        kit = await put_together(settings, system, stop, threads, watch)
        watch.say(introduction(kit))
        apply_sandbox(await kit.workshop.sandbox(), settings, kit.identity, watch.say)
        preparation = Preparation(kit.workshop, bench)
        renewal = await threads.io(renewal_of, settings, kit, words)
        life = Life(kit, preparation, manner_of(settings), renewal)
        outcome = await life.run()
        return Ended(
            outcome, renewal.installed.place.launcher if renewal and life.renewed else None
        )
    finally:
        system.release()


def apply_sandbox(
    sandbox: Sandbox, settings: WorkerSettings, identity: Identity, say: Callable[[str], object]
) -> None:
    """What it means for this worker, said at every start; raises BadWorkerSetting.

    Another project's server has nothing but programs of strangers.
    """
    identity.sandbox = sandbox.available
    identity.bundled_only = not sandbox.takes_strangers
    if identity.bundled_only and settings.foreign_server:
        raise BadWorkerSetting(sandbox.refusal)
    if identity.bundled_only:
        say(f"{sandbox.refusal} Until then it plays the bundled engine alone.")
    elif not sandbox.available:
        say(f"Programs of strangers run without a sandbox on this machine. {sandbox.why}")


async def put_together(
    settings: WorkerSettings,
    system: System,
    stop: Stop,
    threads: Threads,
    watch: Watcher,
    look: Callable[[System], Facts] = survey,
    workshop: Maker | None = None,
) -> Kit:
    """Everything a worker works with; raises BadWorkerSetting."""
    if not settings.server:
        raise BadWorkerSetting("Which server? Give --server, or answer `rookery worker configure`.")
    username, password = await threads.io(credentials, settings)
    transport = HttpTransport(settings.server, private=settings.allow_private_sources)
    talk = Conversation(transport, Account(username, password))
    folder = settings.cache_folder
    try:
        instance = await threads.io(instance_of, system, folder / "workers")
    except OSError as error:
        raise BadWorkerSetting(f"The cache {folder} can't be used: {error.strerror}.") from None
    identity = await threads.io(identity_of, settings, system, username, instance, look)
    downloads = ServerDownloads(talk, threads, watch, _patience(settings))
    downloads.foreign = settings.foreign_server
    return Kit(
        talk=talk,
        identity=identity,
        workshop=await threads.io(_workshop, settings, downloads) if workshop is None else workshop,
        books=Books(folder / "books", downloads, threads),
        scratch=folder / "workers" / f"{system.host_name()}-{instance}",
        stop=stop,
        threads=threads,
        watch=watch,
        nodes=await threads.io(system.numa_nodes),
        syzygy=settings.syzygy,
        fastchess=await threads.io(_fastchess, settings),
        patience=_patience(settings),
    )


def introduction(kit: Kit) -> str:
    """Who plays, for whom and with what, for the first line."""
    offer, head = kit.identity.offer, kit.identity.key.partition("-")[0]
    name = f"{offer.username}-{offer.concurrency}cores-{head}"
    much = "1 core" if offer.concurrency == 1 else f"{offer.concurrency} cores"
    server = kit.talk.transport.server
    place = f"plays for {server} on {much} and {offer.memory_mib} MiB"
    return f"{name}, Rookery {__version__}, {place}"


def _workshop(settings: WorkerSettings, downloads: ServerDownloads) -> Workshop:
    return Workshop(
        settings.cache_folder,
        downloads,
        without_sandbox=settings.without_sandbox,
        private_sources=settings.allow_private_sources,
    )


def renewal_of(settings: WorkerSettings, kit: Kit, words: Sequence[str]) -> Renewal | None:
    """None where the worker stays as it is."""
    installed = None if settings.foreign_server else installed_here()
    if installed is None:
        return None
    return Renewal(
        installed,
        kit.talk.transport,
        kit.threads,
        kit.watch.say,
        words,
        lambda text: kit.talk.log(kit.identity.info, None, text),
        stays=settings.no_update,
        allow_http=settings.allow_http,
    )


def manner_of(settings: WorkerSettings) -> Manner:
    return Manner(
        once=settings.once,
        fleet=settings.fleet,
        foreign=settings.foreign_server,
        trial=settings.trial,
        first_seconds=min(settings.retry_seconds, FIRST_SECONDS),
    )


def identity_of(
    settings: WorkerSettings,
    system: System,
    username: str,
    instance: int,
    look: Callable[[System], Facts] = survey,
) -> Identity:
    """What the worker will say of itself; asks the machine, so that it belongs into a thread."""
    if settings.key and not _KEY.fullmatch(settings.key):
        raise BadWorkerSetting("--key is 2 to 8 letters or digits.")
    memory = memory_mib(settings.memory, system)
    offer = Offer(
        username=username,
        concurrency=_cores(settings, memory, system),
        memory_mib=memory,
        min_threads=settings.min_threads,
        noisy=settings.noisy,
        focus=settings.focus,
        only=settings.only,
        syzygy_men=settings.syzygy_men if settings.syzygy else 0,
    )
    key = unique_key(system, settings.cache_folder, instance, settings.key)
    runner = FASTCHESS if settings.foreign_server else BUILTIN
    return Identity(offer, look(system), key, runner=runner)


def _cores(settings: WorkerSettings, memory: int, system: System) -> int:
    """Another project's server expects that games fit into the memory."""
    wanted = cores(settings.concurrency, system)
    if not settings.foreign_server:
        return wanted
    return max(1, min(wanted, (memory - OFFICIAL_MIB) // OFFICIAL_GAME_MIB))


def _fastchess(settings: WorkerSettings) -> str:
    if not settings.foreign_server:
        return ""
    found = find(settings.fastchess)
    if found is None or not found.is_recent:
        raise BadWorkerSetting("--foreign-server needs fastchess 1.4 or later on the PATH.")
    return found.path


def _patience(settings: WorkerSettings) -> Patience:
    attempts = Patience().attempts if settings.foreign_server else HOUSE.attempts
    return Patience(attempts, settings.retry_seconds)
