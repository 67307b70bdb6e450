"""`rookery up`: server, database and a worker on this machine, and a first test to look at."""

import asyncio
import contextlib
import os
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TextIO, cast

from cyclopts import Parameter
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from rookery.core.client.client import Client
from rookery.core.command import option
from rookery.core.errors import Complaint
from rookery.core.http_failures import CallFailed
from rookery.core.model.events import SYSTEM, Action, about_user
from rookery.core.model.run import DisplayState
from rookery.core.protocol import v1
from rookery.core.protocol.runs import read_submitted
from rookery.core.stats.sprt import Flag
from rookery.server.app.features import make_features
from rookery.server.app.run import run_site
from rookery.server.app.site import Site
from rookery.server.carriers.server import DEFAULT_STOP_TIMES
from rookery.server.commands.local_worker import LEAVE_SECONDS, MOST_LOG_BYTES, LocalWorker
from rookery.server.commands.serve import NOTHING_SET, ServeSettings
from rookery.server.db.access import refuse_busy_folder
from rookery.server.db.embedded.folder import make_folder
from rookery.server.identity.bearers import Caller
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import APPROVERS, ORDINARY, Scope, User, is_approver
from rookery.server.runs.submissions import Submissions
from rookery.server.settings import Settings

ADMINISTRATOR = "admin"
MACHINE_LIMIT = 1000
LOG = "rookery.log"
KEPT_IN = "local-worker.token"
NOTE = "the local worker of rookery up"
LOOK_SECONDS = 2.0
FETCH_SECONDS = 30.0
PATIENCE_SECONDS = 5.0
# People read it aloud and type it, so it has no letters that look alike.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(slots=True)
class StartReport:
    """What a start has created, for the sentences about it."""

    token: Path | None = None
    demo: str = ""
    password: str = ""


class StartScreen:
    """Shows the start: on a terminal with a progress line and a box, elsewhere in lines."""

    def __init__(self, console: Console | None) -> None:
        self._console = console
        self._progress: Progress | None = None

    @contextlib.contextmanager
    def starting(self, what: str) -> Iterator[None]:
        """Show the time of the start so far, until the box is shown or the start has failed."""
        if self._console is not None:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.start()
        self.step(what)
        try:
            yield
        finally:
            self._end_progress()

    def step(self, what: str) -> None:
        if self._progress is not None:
            for known in self._progress.task_ids:
                self._progress.remove_task(known)
            self._progress.add_task(f"{what} ...", total=None)

    def box(self, sentences: Sequence[str]) -> None:
        self._end_progress()
        if self._console is None:
            print("", *sentences, "", sep="\n", flush=True)
            return
        text = Text("\n".join(sentences), overflow="fold")
        self._console.print(Panel.fit(text, title="Rookery", padding=(1, 2)))

    def say(self, sentence: str) -> None:
        if self._console is None:
            print(sentence, flush=True)
        else:
            self._console.print(Text(sentence))

    def _end_progress(self) -> None:
        progress, self._progress = self._progress, None
        if progress is not None:
            progress.stop()


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class UpFlags:
    """The flags of `rookery up` in addition to those of the server."""

    reset_password: Annotated[
        bool, option("give the administrator a new password and print it")
    ] = False
    no_demo: Annotated[bool, option("start no first test")] = False
    no_worker: Annotated[bool, option("start no worker on this machine")] = False
    without_sandbox: Annotated[
        bool,
        option(
            "let the worker play all engines, not only the bundled one, where there is no sandbox"
        ),
    ] = False
    concurrency: Annotated[
        str, option("cores the worker plays on: auto (all but one), 4, MAX, MAX/2", "N")
    ] = "auto"


ALL_OF_IT = UpFlags()


def up(*, flags: UpFlags = ALL_OF_IT, serving: ServeSettings = NOTHING_SET) -> int:
    """Start the server with its database, and a worker on this machine.

    On the first start it creates an administrator's account, prints its password once, and plays a
    first test of the bundled engine. Ctrl-C stops everything.

    examples:

      rookery up
      rookery up --no-demo --port 9000 --data ./farm
      rookery up --host 0.0.0.0 --base-url http://farm.example.org:8000
    """
    settings, start = serving.read(), StartReport()
    refuse_busy_folder(settings.data, settings.database_url)
    screen = StartScreen(Console() if sys.stdout.isatty() else None)
    worker = LocalWorker(
        settings.data, flags.concurrency, screen.say, without_sandbox=flags.without_sandbox
    )
    leaving = threading.Event()

    async def prepare(site: Site) -> None:
        await prepare_start(site, flags, screen, start)

    def ready(address: str) -> None:
        near, known_as = reachable(address), settings.base_url or reachable(address)
        screen.box(start_sentences(known_as, start, settings.data, worker))
        if start.token is not None:
            worker.start(near, start.token)
        if start.demo:
            follow = (Client.at(near), start.demo, screen.say, leaving)
            threading.Thread(target=follow_demo, args=follow, daemon=True).start()

    def leave() -> None:
        leaving.set()
        screen.say("Stopping: the worker returns its games, then server and database end.")
        worker.stop()

    stop_times = replace(DEFAULT_STOP_TIMES, whole=DEFAULT_STOP_TIMES.whole + LEAVE_SECONDS)
    what = "Starting the database" if settings.data.exists() else "Making a database"
    with screen.starting(what), logged(settings) as (log_to, settings):
        code = run_site(settings, prepare, ready, leave, stop_times, log_to)
    failed = f"Stopped; the log says what failed: {log_of(settings)}"
    screen.say(failed if code else "Stopped.")
    return code


async def prepare_start(
    site: Site, flags: UpFlags, screen: StartScreen, start: StartReport
) -> None:
    """Create what is needed before the server answers: charts, the administrator's account, the
    first test, the worker's token."""
    if site.front_end.is_missing:
        screen.step("Fetching charts and the board for the pages, once")
        await site.front_end.fetch_within(FETCH_SECONDS)
    screen.step("Preparing accounts and the first test")
    first = await site.users.count() == 0
    start.password = await provide_administrator(site, reset=flags.reset_password) or ""
    if first and not flags.no_demo and await becomes_primary(site):
        start.demo = await begin_demo(site)
    if not flags.no_worker:
        start.token = await provide_token(site, site.settings.data)


@contextlib.contextmanager
def logged(settings: Settings) -> Iterator[tuple[TextIO, Settings]]:
    """Open the log file. If standard error is not a terminal, log lines go there as well."""
    make_folder(settings.data)
    with log_file(log_of(settings)) as opened:
        if not sys.stderr.isatty():
            yield cast("TextIO", TwoFiles(sys.stderr, opened)), settings
            return
        style = "console" if settings.log_format == "auto" else settings.log_format
        yield opened, replace(settings, log_format=style)


def log_of(settings: Settings) -> Path:
    return settings.data / LOG


def log_file(file: Path) -> TextIO:
    """Open a log for appending. One that has become too long is renamed. Raises Complaint."""
    try:
        if file.exists() and file.stat().st_size > MOST_LOG_BYTES:
            file.replace(file.with_suffix(".old"))
        return file.open("a", encoding="utf-8")
    except OSError as error:
        raise Complaint(f"The log {file} can't be written: {error.strerror}.") from None


@dataclass(frozen=True, slots=True)
class TwoFiles:
    """Writes to two files for the log writer. A failure of one does not affect the other."""

    first: TextIO
    second: TextIO

    def isatty(self) -> bool:
        return False

    def write(self, text: str) -> None:
        self._each(lambda out: out.write(text))

    def flush(self) -> None:
        self._each(lambda out: out.flush())

    def _each(self, act: Callable[[TextIO], object]) -> None:
        for out in (self.first, self.second):
            with contextlib.suppress(OSError, ValueError):
                act(out)


def follow_demo(
    client: Client, run_id: str, say: Callable[[str], object], leaving: threading.Event
) -> None:
    """Wait until the first test is over and print its outcome, or until this process ends."""
    while not leaving.wait(LOOK_SECONDS):
        try:
            run = client.run(run_id)
        except CallFailed:
            continue
        if said := end_of_demo(run):
            say(said)
            return


def end_of_demo(run: v1.RunDetails) -> str:
    """Return a sentence about how the first test ended; empty while it is played."""
    if run.state not in (DisplayState.FINISHED, DisplayState.FAILED):
        return ""
    ended = "passed" if run.flag is Flag.GREEN else "ended without passing"
    return f"The first test has {ended}, after {run.results.games} games."


def reachable(address: str) -> str:
    """Return an address at which this machine reaches a server that listens on all addresses."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def start_sentences(address: str, start: StartReport, data: Path, worker: LocalWorker) -> list[str]:
    """Return the sentences for a person who has just started the server."""
    lines = [f"Rookery is ready at {address}"]
    if start.password:
        lines.append(f"Log in as {ADMINISTRATOR} with the password {start.password} (shown once).")
    lines += [f"The data is in {data}", f"The log is {data / LOG}"]
    if start.demo:
        lines.append(f"A first test is being played: {address}/runs/{start.demo}")
    if start.token is not None:
        lines.append(f"A worker plays on this machine; its log is {worker.log}")
    return [*lines, "Ctrl-C stops everything."]


async def provide_administrator(site: Site, *, reset: bool) -> str | None:
    """Create the first account, or set a new password for it. Returns the password, or None if
    neither was needed."""
    present = await site.users.by_name(ADMINISTRATOR)
    if not (reset or await site.users.count() == 0):
        return None
    password = "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(4))
    passwords = Passwords(site.threads, site.clock, secrets.token_bytes(32))
    hashed = await passwords.hash(password)
    if present is not None:
        await site.users.change(
            ADMINISTRATOR, lambda now: replace(now, password_hash=hashed, blocked=False)
        )
    else:
        await site.users.add(_administrator(hashed, site))
    action = Action.NEW_USER if present is None else Action.CHANGE_PASSWORD
    event = about_user(action, ADMINISTRATOR, SYSTEM, site.clock.now(), "")
    await site.accounts.audit.write(event)
    return password


def _administrator(hashed: str, site: Site) -> User:
    return User(
        name=ADMINISTRATOR,
        email="",
        password_hash=hashed,
        groups=frozenset({APPROVERS}),
        blocked=False,
        pending=False,
        machine_limit=MACHINE_LIMIT,
        created=site.clock.now(),
    )


async def provide_token(site: Site, data: Path) -> Path | None:
    """Return the file with the local worker's token, which is created if needed; None if no user is
    an approver."""
    file = data / KEPT_IN
    written = await site.threads.io(_read, file)
    name, _, secret = written.partition(":")
    token = await site.bearers.find_worker_token(secret) if secret else None
    if token is not None and token.user == name:
        return file
    owner = await _owner(site)
    if owner is None:
        return None
    minted = await site.accounts.create_token(owner, frozenset({Scope.WORKER}), note=NOTE)
    await site.threads.io(_write, file, f"{owner}:{minted.secret}")
    return file


async def _owner(site: Site) -> str | None:
    """Return the first user who may approve runs."""
    people = await site.users.list_all()
    return next((user.name for user in people if is_approver(user) and not user.blocked), None)


def _read(file: Path) -> str:
    try:
        return file.read_text().strip()
    except OSError:
        return ""


def _write(file: Path, text: str) -> None:
    """Write a file that only its owner can read, from the start."""
    with contextlib.suppress(FileNotFoundError):
        file.unlink()
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as out:
        out.write(text)


# The first test of a new installation: the bundled engine against a weakened copy of itself.
#
# It is chosen so that it is decided within a few minutes on two cores: the base plays a random
# legal move in three of a hundred positions, which costs it some hundred Elo, the bounds are wide,
# and each pair of games is reported at once.

BENCH = "30939"
"""The node count of Fledgling's bench, which is the same on every machine."""
SUBMISSION = {
    "new_engine": "Fledgling",
    "base_engine": "Fledgling",
    "new_tag": "careful",
    "base_tag": "careless",
    "resolved_new": "0" * 40,
    "resolved_base": "0" * 40,
    "new_signature": BENCH,
    "base_signature": BENCH,
    "tests_repo": "https://example.org/fledgling",
    "new_options": "Hash=16 NodeNoise=30 Seed=1",
    "base_options": "Hash=16 NodeNoise=30 Seed=2 Blunder=3",
    "tc": "N=200",
    "book": "rookery-demo.epd",
    "num_games": 4000,
    "sprt": {"elo0": 0, "elo1": 30, "batch_size": 1},
    "info": "A first look: does not blundering gain Elo? (It should.)",
}


async def becomes_primary(site: Site) -> bool:
    """Whether this process is primary. On an external database it may first have to wait until a
    dead process's lease expires."""
    try:
        async with asyncio.timeout(site.settings.lease_seconds + PATIENCE_SECONDS):
            await site.fleet.primary.wait_until_serving()
    except TimeoutError:
        return False
    return True


async def begin_demo(site: Site) -> str:
    """Submit the first test, approved, and return its id."""
    owner = await site.users.by_name(ADMINISTRATOR)
    assert owner is not None, "it was just made"
    caller = Caller(owner, ORDINARY)
    made = (
        await make_features(site).make(Submissions).prepare_run(read_submitted(SUBMISSION), caller)
    )
    await site.fleet.commands.submit(made.run, approver=owner.name)
    return made.run.id
