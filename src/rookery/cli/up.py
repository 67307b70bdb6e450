"""`rookery up`: server, database and a worker on this machine, and a first test to look at."""

import argparse
import secrets
from dataclasses import dataclass, field, replace
from pathlib import Path

from rookery.cli.demo import begin_demo
from rookery.cli.local_worker import LEAVE_SECONDS, LocalWorker, provide_token
from rookery.cli.options import add_settings, settings_of
from rookery.cli.process import run_site
from rookery.cli.serve import SETTINGS
from rookery.core.events import SYSTEM, Action, about_user
from rookery.service.passwords import Passwords
from rookery.service.users import User
from rookery.web.house import House
from rookery.web.server import DEFAULT_PATIENCE

ADMINISTRATOR = "admin"
APPROVERS = "group:approvers"
MACHINE_LIMIT = 1000
# Read aloud and typed by people: no letters that look alike.
ALPHABET = "abcdefghjkmnpqrstuvwxyz23456789"


EXAMPLES = """\
examples:

  rookery up
  rookery up --no-demo --port 9000 --data ./farm
  rookery up --host 0.0.0.0 --base-url http://farm.example.org:8000"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.description = (
        "Starts the server with its database, and a worker on this machine. On the"
        " first start it makes an administrator's account, prints the password, once, and plays a"
        " first test of the bundled engine. Ctrl-C stops everything."
    )
    parser.add_argument(
        "--reset-password",
        action="store_true",
        help="give the administrator a new password and print it",
    )
    parser.add_argument("--no-demo", action="store_true", help="no first test")
    parser.add_argument("--no-worker", action="store_true", help="no worker on this machine")
    parser.add_argument(
        "--concurrency",
        default="auto",
        metavar="N",
        help="cores the worker plays on: auto (all but one), 4, MAX, MAX/2 (default: auto)",
    )
    add_settings(parser, SETTINGS)
    parser.set_defaults(run=run)


@dataclass(slots=True)
class Start:
    """What a start found out and has to say."""

    token: Path | None = None
    demo: str = ""
    lines: list[str] = field(default_factory=list)


def run(parsed: argparse.Namespace) -> int:
    settings, start = settings_of(parsed), Start()
    worker = LocalWorker(settings.data, parsed.concurrency)

    async def prepare(house: House) -> None:
        first = await house.users.count() == 0
        if password := await provide_administrator(house, reset=parsed.reset_password):
            start.lines.append(
                f"Log in as {ADMINISTRATOR} with the password {password} (shown once)."
            )
        if first and not parsed.no_demo:
            start.demo = await _demo(house)
        if not parsed.no_worker:
            start.token = await provide_token(house, settings.data)

    def ready(address: str) -> None:
        near = reachable(address)
        _tell(settings.base_url or near, start, worker)
        if start.token is not None:
            worker.start(near, start.token)

    patience = replace(DEFAULT_PATIENCE, whole=DEFAULT_PATIENCE.whole + LEAVE_SECONDS)
    return run_site(settings, prepare, ready, worker.stop, patience)


def reachable(address: str) -> str:
    """What listens on all addresses is reached from here by the one of this machine."""
    return address.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:")


def _tell(address: str, start: Start, worker: LocalWorker) -> None:
    lines = [f"\nRookery is ready at {address}", *start.lines]
    if start.demo:
        lines.append(f"A first test is being played: {address}/runs/{start.demo}")
    if start.token is not None:
        lines.append(f"A worker plays on this machine; its log is {worker.log}")
    print(*lines, "Ctrl-C stops everything.\n", sep="\n", flush=True)


async def _demo(house: House) -> str:
    owner = await house.users.by_name(ADMINISTRATOR)
    assert owner is not None, "it was just made"
    return await begin_demo(house, owner)


async def provide_administrator(house: House, *, reset: bool) -> str | None:
    """Makes the account when there is none at all, or a new password; None when neither."""
    present = await house.users.by_name(ADMINISTRATOR)
    if not (reset or await house.users.count() == 0):
        return None
    password = "-".join("".join(secrets.choice(ALPHABET) for _ in range(4)) for _ in range(4))
    passwords = Passwords(house.threads, house.clock, secrets.token_bytes(32))
    hashed = await passwords.hash(password)
    if present is not None:
        await house.users.save(replace(present, password_hash=hashed, blocked=False))
    else:
        await house.users.add(_administrator(hashed, house))
    action = Action.NEW_USER if present is None else Action.CHANGE_PASSWORD
    event = about_user(action, ADMINISTRATOR, SYSTEM, house.clock.now(), "")
    await house.api.accounts.audit.write(event)
    return password


def _administrator(hashed: str, house: House) -> User:
    return User(
        name=ADMINISTRATOR,
        email="",
        password_hash=hashed,
        groups=frozenset({APPROVERS}),
        blocked=False,
        pending=False,
        machine_limit=MACHINE_LIMIT,
        created=house.clock.now(),
    )
