"""`rookery worker configure` asks for a worker's settings, checks each answer and writes them;
`rookery worker doctor` shows what this machine has, what it can play, and why not."""

import asyncio
import getpass
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rookery.core.boundary.offload import Threads
from rookery.core.client.client import Client
from rookery.core.command import BadArgument, print_rows, print_table
from rookery.core.http_client import HttpClient
from rookery.core.http_failures import CallFailed, CallRefused, NoAnswer
from rookery.core.http_places import is_web_address
from rookery.core.model.engine import FLEDGLING, STOCKFISH, EngineRecord
from rookery.match.fastchess import find_fastchess
from rookery.worker.commands.settings import WorkerSettings, config_file, credentials, from_file
from rookery.worker.commands.start import make_identity
from rookery.worker.engines import workshop
from rookery.worker.identity import WorkerIdentity, check_engines
from rookery.worker.sandbox.sandbox import Sandbox, detect_sandbox
from rookery.worker.server import HttpTransport, ServerCalls, WorkerAccount
from rookery.worker.system import BadAllotment, System, ThisSystem, parse_cores, parse_memory

TOKEN_PREFIX = "rkw_"  # noqa: S105 - what tokens begin with, no secret
SECRET_MODE = 0o600
SECONDS = 10.0
ATTEMPTS = 3
"""How often a name and a secret are asked for when the server refuses them. The account may not be
approved yet."""


@dataclass(frozen=True, slots=True)
class Person:
    """The functions that ask and tell the person at the keyboard."""

    ask: Callable[[str], str] = input
    ask_secretly: Callable[[str], str] = getpass.getpass
    tell: Callable[[str], object] = print


def configure(file: Path, person: Person, system: System | None = None) -> int:
    """Ask for the settings, with the present ones as defaults, and write them. Returns the exit
    code."""
    known = from_file(file) if file.exists() else {}
    machine = system or ThisSystem()
    server = _server(person, str(known.get("server", "")))
    account, accepted = _account(person, server, str(known.get("username", "")))
    answers: dict[str, object] = {
        "server": server,
        "username": account.username,
        "concurrency": _amount(
            person,
            "Cores to play on (auto, 4, PHYS-1, MAX/2)",
            known.get("concurrency", "auto"),
            lambda text: f"{parse_cores(text, machine)} of {machine.physical_cores()} cores",
        ),
        "memory": _amount(
            person,
            "Memory to use in MiB (auto, 8000, MAX/2)",
            known.get("memory", "auto"),
            lambda text: f"{parse_memory(text, machine)} of {machine.memory_mib()} MiB",
        ),
    }
    kept = {key: value for key, value in known.items() if not key.endswith("_file")}
    answers |= _without_sandbox(person, known)
    place = _keep_secret(file, account.password)
    _write(file, {**kept, **answers, place[0]: place[1]})
    person.tell(f"Saved to {file}; the secret is in {place[1]}, which only you can read.")
    if accepted:
        person.tell("Start with: rookery worker")
    return 0 if accepted else 5


def _without_sandbox(person: Person, known: dict[str, object]) -> dict[str, object]:
    """Ask whether programs may run without a sandbox, if this machine has none."""
    sandbox = asyncio.run(detect_sandbox(Threads()))
    if sandbox.available:
        return {}
    person.tell(f"{sandbox.refusal} Until then it plays the bundled engine alone.")
    question = "Run other people's programs without a sandbox (yes, no)"
    answer = _asked(person, question, "yes" if known.get("without_sandbox") else "no")
    return {"without_sandbox": answer.lower() in ("yes", "y")}


def _asked(person: Person, question: str, known: object) -> str:
    """Ask until there is an answer."""
    offered = f" [{known}]" if known else ""
    while True:
        answer = person.ask(f"{question}{offered}: ").strip() or str(known)
        if answer:
            return answer


def _server(person: Person, known: str) -> str:
    """Ask for an address until one answers or the person insists on it."""
    while True:
        server = _asked(person, "Address of the server", known).rstrip("/")
        if not is_web_address(server):
            person.tell("An address begins with http:// or https://.")
            continue
        why = _unreachable(server)
        if not why:
            return server
        person.tell(f"{server} does not answer: {why}.")
        # The address is the default of the next question: Enter keeps it, for a server that is not
        # up yet.
        if known == server:
            return server
        known = server


def _unreachable(server: str) -> str:
    """Why no server answers at this address; empty if one does, whatever the answer."""
    try:
        HttpClient(SECONDS).call("GET", server)
    except NoAnswer as failed:
        return failed.reason
    except CallRefused:
        pass
    return ""


def _account(person: Person, server: str, known: str) -> tuple[WorkerAccount, bool]:
    """Ask for a name and a secret until the server accepts them. Returns them and whether it
    did."""
    for _ in range(ATTEMPTS):
        name = _asked(person, "Your user name there", known)
        secret = ""
        while not secret:
            secret = person.ask_secretly("Password, or a worker token (it is not shown): ").strip()
        account = WorkerAccount(name, secret)
        try:
            answer = ServerCalls(HttpTransport(server, SECONDS), account).version()
        except CallRefused as refused:
            person.tell(f"The server refuses: {refused}")
            known = name
        except NoAnswer as error:
            person.tell(f"The login could not be checked: {error}")
            break
        else:
            ours, others = "a Rookery server", "another project's: give --foreign-server"
            person.tell(f"The server knows {name}; it is {ours if answer.rookery else others}.")
            return account, True
    return account, False


def _amount(person: Person, question: str, known: object, said: Callable[[str], str]) -> str:
    """Ask for a number, or an expression in terms of what the machine has."""
    while True:
        answer = _asked(person, question, known)
        try:
            person.tell(f"That is {said(answer)}.")
        except BadAllotment as bad:
            person.tell(str(bad))
        else:
            return answer


def _keep_secret(file: Path, secret: str) -> tuple[str, str]:
    """Write the secret into a separate file that only its owner can read."""
    name = "token_file" if secret.startswith(TOKEN_PREFIX) else "password_file"
    place = file.with_name(f"{file.stem}.{name.partition('_')[0]}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(f"{secret}\n")
    except OSError as error:
        raise BadArgument(f"{place} can't be written: {error.strerror}.") from None
    return name, str(place)


def _write(file: Path, values: dict[str, object]) -> None:
    # Strings, numbers, booleans and lists of strings are written in TOML as in JSON.
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


# The checks of `rookery worker doctor`.

Row = tuple[str, str]
MIB = 2**20
WITHOUT_SERVER = (STOCKFISH, FLEDGLING)


@dataclass(frozen=True, slots=True)
class MachineFindings:
    """What the doctor found. `sound` tells whether a worker could play here."""

    rows: tuple[Row, ...]
    engines: tuple[Row, ...]
    sound: bool

    def show(self) -> None:
        print_rows(self.rows)
        print()
        print_table([("engine", "{0[0]}"), ("can be played here", "{0[1]}")], self.engines)


async def examine(settings: WorkerSettings, system: System, threads: Threads) -> MachineFindings:
    """Check what a worker needs. Changes nothing but a file in the cache."""
    identity = await threads.io(make_identity, settings, system, settings.username or "nobody", 0)
    sandbox = await detect_sandbox(threads, permitted=settings.without_sandbox)
    identity.sandbox = sandbox.available
    identity.bundled_only = not sandbox.takes_strangers
    ours = await workshop.find_bundled_trouble(sandbox, threads)
    return await threads.io(_examined, settings, identity, sandbox, ours)


def _examined(
    settings: WorkerSettings, identity: WorkerIdentity, sandbox: Sandbox, ours: str
) -> MachineFindings:
    """Return the findings. `ours` is the reason if the bundled engine does not start, else
    empty."""
    server, answers = _server_found(settings)
    cache, writable = _cache(settings)
    records = _records(settings)
    broken = {record.name for record in records if ours and record.is_bundled}
    engines = tuple(
        (one.engine, one.why_not or (ours if one.engine in broken else "yes"))
        for one in check_engines(records, identity)
    )
    rows = (*_machine(identity, sandbox, settings), ("cache", cache), ("server", server))
    playable = any(said == "yes" for _, said in engines)
    return MachineFindings(rows, engines, answers and writable and playable)


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
    if sandbox.available:
        yield "limits", sandbox.limits
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
        return f"no; other people's programs run without one. {sandbox.why}"
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


def _server_found(settings: WorkerSettings) -> tuple[str, bool]:
    """Whether the server answers and knows the user, with a sentence. Without a server there is no
    error."""
    if not settings.server:
        return "none is configured", True
    try:
        account = WorkerAccount(*credentials(settings))
        answer = ServerCalls(HttpTransport(settings.server), account).version()
    except BadArgument as bad:
        return f"{settings.server}: {bad}", False
    except CallRefused as refused:
        return f"{settings.server} refuses {account.username}: {refused}", False
    except NoAnswer as error:
        return str(error), False
    kind = f"Rookery {answer.rookery.version}" if answer.rookery else "another project's server"
    return f"{settings.server} knows {account.username}; it is {kind}", True


def _records(settings: WorkerSettings) -> tuple[EngineRecord, ...]:
    """Return the server's engines, or those that every server has."""
    if settings.server:
        try:
            return Client.at(settings.server).engines().engines
        except CallFailed:
            return WITHOUT_SERVER
    return WITHOUT_SERVER
