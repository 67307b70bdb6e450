"""`rookery worker doctor`: what this machine has, what it can play, and why not."""

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from rookery.boundary.offload import Threads
from rookery.cli.arguments import table
from rookery.cli.worker_start import (
    BadWorkerSetting,
    WorkerSettings,
    config_file,
    credentials,
    identity_of,
)
from rookery.client.client import Client
from rookery.http_client import CallFailed, CallRefused, NoAnswer
from rookery.match.fastchess import find_fastchess
from rookery.model.engine import FLEDGLING, STOCKFISH, EngineRecord
from rookery.worker.engines import workshop
from rookery.worker.identity import WorkerIdentity, check_engines
from rookery.worker.sandbox.sandbox import Sandbox, detect_sandbox
from rookery.worker.server import HttpTransport, ServerCalls, WorkerAccount
from rookery.worker.system import System

Row = tuple[str, str]
MIB = 2**20
WITHOUT_SERVER = (STOCKFISH, FLEDGLING)


@dataclass(frozen=True, slots=True)
class Findings:
    """What was found; `sound` is whether the worker could play here."""

    rows: tuple[Row, ...]
    engines: tuple[Row, ...]
    sound: bool

    @property
    def text(self) -> str:
        width = max(len(name) for name, _ in self.rows)
        lines = [f"{name:{width}}  {said}" for name, said in self.rows]
        return "\n".join([*lines, "", table(("engine", "can be played here"), self.engines)])


async def examine(settings: WorkerSettings, system: System, threads: Threads) -> Findings:
    """Looks at everything a worker will need; changes nothing but a file in the cache."""
    identity = await threads.io(identity_of, settings, system, settings.username or "nobody", 0)
    sandbox = await detect_sandbox(threads, permitted=settings.without_sandbox)
    identity.sandbox = sandbox.available
    identity.bundled_only = not sandbox.takes_strangers
    ours = await workshop.find_bundled_trouble(sandbox, threads)
    return await threads.io(_examined, settings, identity, sandbox, ours)


def _examined(
    settings: WorkerSettings, identity: WorkerIdentity, sandbox: Sandbox, ours: str
) -> Findings:
    """`ours` is why the bundled engine does not start, if it does not."""
    server, answers = _server(settings)
    cache, writable = _cache(settings)
    records = _records(settings)
    broken = {record.name for record in records if ours and record.is_bundled}
    engines = tuple(
        (one.engine, one.why_not or (ours if one.engine in broken else "yes"))
        for one in check_engines(records, identity)
    )
    rows = (*_machine(identity, sandbox, settings), ("cache", cache), ("server", server))
    playable = any(said == "yes" for _, said in engines)
    return Findings(rows, engines, answers and writable and playable)


def _machine(identity: WorkerIdentity, sandbox: Sandbox, settings: WorkerSettings) -> Iterator[Row]:
    facts, offer = identity.facts, identity.offer
    yield "configuration", str(config_file())
    yield "machine", f"{facts.host}, {facts.uname}, {facts.cpu or 'unknown processor'}"
    yield "architecture", facts.arch
    nodes = "1 NUMA node" if facts.numa == 1 else f"{facts.numa} NUMA nodes"
    yield "cores", f"{offer.concurrency} offered of {facts.physical_cores} physical ones, {nodes}"
    yield "memory", f"{offer.memory_mib} MiB offered"
    tools = ", ".join(f"{name} {version}".strip() for name, version in sorted(facts.tools.items()))
    yield "tools", tools or "none: only engines that need no building can be played"
    yield "sandbox", _walls(sandbox)
    yield "fastchess", _fastchess(settings.fastchess)


def _fastchess(program: str) -> str:
    if found := find_fastchess(program):
        return f"{found.line}, {found.path}"
    if program != WorkerSettings().fastchess:
        return f"{program} is not there, or does not say that it is fastchess"
    return "none; it is for other projects' servers only"


def _walls(sandbox: Sandbox) -> str:
    if sandbox.available:
        return "yes, by bubblewrap" if sandbox.bubblewrap else "yes"
    if sandbox.permitted:
        return f"no, and programs of strangers are allowed to run without one. {sandbox.why}"
    return f"no. {sandbox.refusal}"


def _cache(settings: WorkerSettings) -> tuple[str, bool]:
    folder = settings.cache_folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".probe-{os.getpid()}"
        probe.write_bytes(b"")
        probe.unlink()
        free = shutil.disk_usage(folder).free // MIB
    except OSError as error:
        return f"{folder} can't be written to: {error.strerror}", False
    return f"{folder}, {free} MiB free", True


def _server(settings: WorkerSettings) -> tuple[str, bool]:
    """Whether it answers, and to whom; without one the rest can still be looked at."""
    if not settings.server:
        return "none is configured", True
    try:
        account = WorkerAccount(*credentials(settings))
        answer = ServerCalls(HttpTransport(settings.server), account).version()
    except BadWorkerSetting as bad:
        return f"{settings.server}: {bad}", False
    except CallRefused as refused:
        return f"{settings.server} refuses {account.username}: {refused}", False
    except NoAnswer as error:
        return str(error), False
    kind = f"Rookery {answer.rookery.version}" if answer.rookery else "another project's server"
    return f"{settings.server} knows {account.username}; it is {kind}", True


def _records(settings: WorkerSettings) -> tuple[EngineRecord, ...]:
    """Those of the server, else those that every server knows."""
    if settings.server:
        try:
            return Client.at(settings.server).engines().engines
        except CallFailed:
            return WITHOUT_SERVER
    return WITHOUT_SERVER
