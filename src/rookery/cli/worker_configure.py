"""`rookery worker configure`: asks what a worker needs to know, and writes it down."""

import getpass
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rookery.cli.worker_settings import BadWorkerSetting, from_file
from rookery.worker.session.conversation import Account, Conversation
from rookery.worker.session.faults import Refused, Unreachable
from rookery.worker.session.transport import HttpTransport

TOKEN_PREFIX = "rkw_"  # noqa: S105 - what tokens begin with, no secret
SECRET_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Person:
    """Whoever sits at the keyboard."""

    ask: Callable[[str], str] = input
    ask_secretly: Callable[[str], str] = getpass.getpass
    tell: Callable[[str], object] = print


def configure(file: Path, person: Person) -> int:
    """The dialogue; what was answered before is offered again. Gives the exit code."""
    known = from_file(file) if file.exists() else {}
    answers = {
        "server": _asked(person, "Address of the server", known.get("server", "")).rstrip("/"),
        "username": _asked(person, "Your user name there", known.get("username", "")),
    }
    secret = person.ask_secretly("Password, or a worker token (it is not shown): ").strip()
    answers["concurrency"] = _asked(
        person, "Cores to play on (auto, 4, PHYS-1, MAX/2)", known.get("concurrency", "auto")
    )
    answers["memory"] = _asked(
        person, "Memory to use in MiB (auto, 8000, MAX/2)", known.get("memory", "auto")
    )
    kept = {key: value for key, value in known.items() if not key.endswith("_file")}
    place = _keep_secret(file, secret)
    _write(file, {**kept, **answers, place[0]: place[1]})
    person.tell(f"Written to {file}; the secret is in {place[1]}, for your eyes alone.")
    return _tried(answers["server"], Account(answers["username"], secret), person)


def _asked(person: Person, question: str, known: object) -> str:
    """Until there is an answer."""
    offered = f" [{known}]" if known else ""
    while True:
        answer = person.ask(f"{question}{offered}: ").strip() or str(known)
        if answer:
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


def _tried(server: str, account: Account, person: Person) -> int:
    try:
        answer = Conversation(HttpTransport(server), account).version()
    except Refused as refused:
        person.tell(f"The server refuses: {refused}")
        return 5
    except Unreachable as error:
        person.tell(f"It could not be tried: {error}")
        return 5
    kind = "a Rookery server" if answer.rookery else "another project's: give --foreign-server"
    person.tell(f"The server knows {account.username}; it is {kind}. Start with: rookery worker")
    return 0
