"""`rookery worker configure`: asks what a worker needs to know, checks each answer, and writes it
down.
"""

import asyncio
import contextlib
import getpass
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from rookery.boundary.offload import Threads
from rookery.cli.worker_start import BadWorkerSetting, WorkerSettings, from_file
from rookery.http_client import CallRefused, HttpClient, NoAnswer, is_web_address
from rookery.worker.renewal.renewal import installed_here
from rookery.worker.sandbox.sandbox import detect_sandbox
from rookery.worker.server import HttpTransport, ServerCalls, WorkerAccount
from rookery.worker.stopping import Watcher, WorkerStatus
from rookery.worker.system import BadAllotment, System, ThisSystem, parse_cores, parse_memory

TOKEN_PREFIX = "rkw_"  # noqa: S105 - what tokens begin with, no secret
SECRET_MODE = 0o600
SECONDS = 10.0
ATTEMPTS = 3
"""At a name and a secret that the server refuses; an account may still await its approval."""


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever sits at the keyboard."""

    ask: Callable[[str], str] = input
    ask_secretly: Callable[[str], str] = getpass.getpass
    tell: Callable[[str], object] = print


@dataclass(frozen=True, slots=True)
class _Tried:
    """An account as it was given last, and whether the server took it."""

    account: WorkerAccount
    sound: bool


def configure(file: Path, person: Person, system: System | None = None) -> int:
    """The dialogue; what was answered before is offered again. Gives the exit code."""
    known = from_file(file) if file.exists() else {}
    machine = system or ThisSystem()
    server = _server(person, str(known.get("server", "")))
    tried = _account(person, server, str(known.get("username", "")))
    answers: dict[str, object] = {
        "server": server,
        "username": tried.account.username,
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
    place = _keep_secret(file, tried.account.password)
    _write(file, {**kept, **answers, place[0]: place[1]})
    person.tell(f"Written to {file}; the secret is in {place[1]}, for your eyes alone.")
    if tried.sound:
        person.tell("Start with: rookery worker")
    return 0 if tried.sound else 5


def _without_sandbox(person: Person, known: dict[str, object]) -> dict[str, object]:
    """Asked only where it matters: where this machine has no sandbox."""
    sandbox = asyncio.run(detect_sandbox(Threads()))
    if sandbox.available:
        return {}
    person.tell(f"{sandbox.refusal} Until then it plays the bundled engine alone.")
    question = "Let programs of strangers run here without a sandbox (yes, no)"
    answer = _asked(person, question, "yes" if known.get("without_sandbox") else "no")
    return {"without_sandbox": answer.lower() in ("yes", "y")}


def _asked(person: Person, question: str, known: object) -> str:
    """Until there is an answer."""
    offered = f" [{known}]" if known else ""
    while True:
        answer = person.ask(f"{question}{offered}: ").strip() or str(known)
        if answer:
            return answer


def _server(person: Person, known: str) -> str:
    """An address that answers, or that the person insists on."""
    while True:
        server = _asked(person, "Address of the server", known).rstrip("/")
        if not is_web_address(server):
            person.tell("An address begins with http:// or https://.")
            continue
        why = _unreachable(server)
        if not why:
            return server
        person.tell(f"{server} gives no answer: {why}.")
        # Offered again: Enter keeps it, for a server that is not up yet.
        if known == server:
            return server
        known = server


def _unreachable(server: str) -> str:
    """Why nothing answers there; empty where something does, whatever it says."""
    try:
        HttpClient(SECONDS).call("GET", server)
    except NoAnswer as failed:
        return failed.reason
    except CallRefused:
        pass
    return ""


def _account(person: Person, server: str, known: str) -> _Tried:
    """A name and a secret that the server takes, as far as it can be asked."""
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
            person.tell(f"It could not be tried: {error}")
            break
        else:
            ours, others = "a Rookery server", "another project's: give --foreign-server"
            person.tell(f"The server knows {name}; it is {ours if answer.rookery else others}.")
            return _Tried(account, sound=True)
    return _Tried(account, sound=False)


def _amount(person: Person, question: str, known: object, said: Callable[[str], str]) -> str:
    """A number, or an expression of what the machine has, which is told."""
    while True:
        answer = _asked(person, question, known)
        try:
            person.tell(f"That is {said(answer)}.")
        except BadAllotment as bad:
            person.tell(str(bad))
        else:
            return answer


def _keep_secret(file: Path, secret: str) -> tuple[str, str]:
    """In a file of its own that nobody else can read."""
    name = "token_file" if secret.startswith(TOKEN_PREFIX) else "password_file"
    place = file.with_name(f"{file.stem}.{name.partition('_')[0]}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, SECRET_MODE)
        with os.fdopen(descriptor, "w", encoding="utf-8") as opened:
            opened.write(f"{secret}\n")
    except OSError as error:
        raise BadWorkerSetting(f"{place} can't be written: {error.strerror}.") from None
    return name, str(place)


def _write(file: Path, values: dict[str, object]) -> None:
    # Strings, numbers, booleans and lists of strings look the same in TOML and in JSON.
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    file.write_text("\n".join([*lines, ""]), encoding="utf-8")


# A unit for systemd that keeps a worker running.

EXTRA_STOP_SECONDS = 30
UNIT = """\
# Put it into /etc/systemd/system/rookery-worker.service (or ~/.config/systemd/user/), then:
#   systemctl enable --now rookery-worker
[Unit]
Description=Rookery worker
Wants=network-online.target
After=network-online.target

[Service]
ExecStart={command}
Restart=always
RestartSec=60
# Wrong credentials do not become right by trying again.
RestartPreventExitStatus=2 5
KillMode=mixed
TimeoutStopSec={seconds}
Nice=5
NoNewPrivileges=yes

[Install]
WantedBy=default.target
"""


def unit(settings: WorkerSettings, words: Sequence[str]) -> str:
    """Starts this very program with the words it was given."""
    command = " ".join(map(quoted, (*this_program(), "worker", *words)))
    return UNIT.format(command=command, seconds=int(settings.grace) + EXTRA_STOP_SECONDS)


def this_program() -> tuple[str, ...]:
    """How to start it again, whichever version is the newest then."""
    if installed := installed_here():
        return (str(installed.place.launcher),)
    program = Path(sys.argv[0])
    if program.name in ("rookery", "rookery.exe") and program.exists():
        return (str(program.absolute()),)
    return (sys.executable, "-m", "rookery.cli.main")


def quoted(word: str) -> str:
    """As systemd reads words: quotes, and its two signs doubled."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"' if plain != word or " " in word or not word else word


# Shows a worker: a status line on a terminal, plain lines with the time elsewhere.


def line(status: WorkerStatus) -> str:
    """A status in one line."""
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
    """For logs: sentences as they come, and the status when what is being done changes."""

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
    """For people: sentences scroll by above one line that is always up to date."""

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
    """The one that suits where the output goes."""
    if not sys.stdout.isatty():
        yield PlainDisplay(lambda text: print(text, flush=True), datetime.now)
        return
    console = Console()
    shown = LiveDisplay(console, datetime.now)
    with Live(console=console, get_renderable=shown.render, refresh_per_second=2, transient=True):
        yield shown
