"""`rookery login` and `logout`: a token for commands, made on a server and kept in a file.

The file holds one token for each server, is readable by its owner alone, and is replaced as a
whole. A token is shown only to the server that made it.
"""

import argparse
import getpass
import ipaddress
import os
import sys
import tempfile
import urllib.parse
from contextlib import suppress
from pathlib import Path

import msgspec
import platformdirs

from rookery.client.transport import HttpApiTransport
from rookery.errors import Complaint
from rookery.http_client import CallRefused
from rookery.protocol import people

SERVER = "ROOKERY_SERVER"
THIS_MACHINE = "http://127.0.0.1:8000"
TOKENS = "/api/v1/tokens"
NOT_FOUND = 404
UNAUTHORIZED = 401


class NotLoggedIn(Complaint):
    """There is nobody to log in, or nothing to log out from."""

    exit_code = 2


class KeptToken(msgspec.Struct, frozen=True):
    """A token as it is kept; its id is what it is revoked by."""

    id: str
    secret: str
    user: str


class Logins(msgspec.Struct, frozen=True):
    """What the file holds: the server that was logged in to last, and a token for each."""

    server: str = ""
    tokens: dict[str, KeptToken] = {}


def file_of_logins() -> Path:
    return platformdirs.user_config_path("rookery") / "logins.json"


def read_logins() -> Logins:
    """An unreadable or broken file counts as none: whoever needs a token is told to log in."""
    try:
        return msgspec.json.decode(file_of_logins().read_bytes(), type=Logins)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Logins()


def write_logins(logins: Logins) -> None:
    file = file_of_logins()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A temporary file is its owner's alone from the beginning.
        descriptor, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(descriptor, "wb") as draft:
            draft.write(msgspec.json.format(msgspec.json.encode(logins)) + b"\n")
        Path(name).replace(file)
    except OSError as error:
        raise NotLoggedIn(f"{file} can't be written: {error.strerror}.") from None


def add_login_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Asks for your name and password, has the server make a token and keeps it for the commands"
        " that call this server (submit, runs, watch and others). The password is not kept."
    )
    _add_server(parser)
    parser.add_argument("--user", default="", metavar="NAME", help="your name there")
    parser.add_argument("--password-stdin", action="store_true", help="read it from stdin")
    parser.add_argument("--days", type=int, metavar="N", help="for how long (default: for ever)")
    parser.set_defaults(run=log_in)


def add_logout_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Revokes the token that `rookery login` keeps, and forgets it."
    _add_server(parser)
    parser.set_defaults(run=log_out)


def _add_server(parser: argparse.ArgumentParser) -> None:
    told = f"where it is (default: the last one, or {THIS_MACHINE}) [{SERVER}]"
    parser.add_argument("--server", metavar="URL", help=told)


def server_of(parsed: argparse.Namespace) -> str:
    """The server that a command means."""
    named = parsed.server or os.environ.get(SERVER) or read_logins().server or THIS_MACHINE
    return str(named).rstrip("/")


def is_loopback(server: str) -> bool:
    """Whether nobody else can listen on the way there."""
    host = urllib.parse.urlsplit(server).hostname or ""
    with suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def log_in(parsed: argparse.Namespace) -> int:
    server = server_of(parsed)
    user = parsed.user or _asked("Name: ")
    if server.startswith("http://") and not is_loopback(server):
        print(f"Warning: the way to {server} is not encrypted.", file=sys.stderr)
    password = password_of(parsed)
    body = people.NewToken(note=f"rookery login on {os.uname().nodename}"[:200])
    if parsed.days is not None:
        body = msgspec.structs.replace(body, days=parsed.days)
    transport = HttpApiTransport(server, login=(user, password))
    made = msgspec.json.decode(
        transport.call("POST", TOKENS, msgspec.json.encode(body)), type=people.MadeToken
    )
    before = read_logins()
    kept = KeptToken(made.token.id, made.secret, user)
    write_logins(Logins(server, before.tokens | {server: kept}))
    print(f"Logged in to {server} as {user}; `rookery logout` ends it.")
    return 0


def log_out(parsed: argparse.Namespace) -> int:
    server, before = server_of(parsed), read_logins()
    kept = before.tokens.get(server)
    if kept is None:
        raise NotLoggedIn(f"You are not logged in to {server}.")
    try:
        HttpApiTransport(server, kept.secret).call("DELETE", f"{TOKENS}/{kept.id}")
    except CallRefused as refused:
        if refused.status not in (UNAUTHORIZED, NOT_FOUND):
            raise
    rest = {each: token for each, token in before.tokens.items() if each != server}
    write_logins(Logins("" if before.server == server else before.server, rest))
    print(f"Logged out from {server}.")
    return 0


def _asked(question: str) -> str:
    if not sys.stdin.isatty():
        raise NotLoggedIn("Nobody is there to ask for a name; give --user and --password-stdin.")
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def password_of(parsed: argparse.Namespace) -> str:
    if parsed.password_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise NotLoggedIn("Nobody is there to ask for a password; give --password-stdin.")
    with suppress(EOFError):
        return getpass.getpass("Password: ")
    raise NotLoggedIn("There was no password.")
