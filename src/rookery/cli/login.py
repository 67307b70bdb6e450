"""The server that a command calls, the token for it, and the account there: `rookery login`,
`logout`, `me` and `team`.

The tokens are kept in one file, which only its owner can read and which is replaced as a whole. A
token is sent only to the server that made it.
"""

import os
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import msgspec
import platformdirs
from cyclopts import Group, Parameter

from rookery.cli.options import (
    AsJson,
    BadArgument,
    Column,
    ask,
    ask_password,
    command_group,
    option,
    print_json,
    print_table,
)
from rookery.client.client import Client
from rookery.client.transport import HttpApiTransport
from rookery.http_client import SECONDS
from rookery.http_failures import CallRefused
from rookery.http_places import is_loopback
from rookery.protocol import people, v1

SERVER = "ROOKERY_SERVER"
TOKEN = "ROOKERY_TOKEN"  # noqa: S105 - the name of a variable
THIS_MACHINE = "http://127.0.0.1:8000"
TOKENS = "/api/v1/tokens"
NOT_FOUND = 404
UNAUTHORIZED = 401

Address = Annotated[
    str,
    option(
        f"address of the server (default: the last login's, or {THIS_MACHINE}) [{SERVER}]", "URL"
    ),
]
# Not the token itself, because everybody on a machine can read the words of a command.
TokenFile = Annotated[
    Path | None,
    option(f"file with an access token (default: that of `rookery login`) [{TOKEN}]", "FILE"),
]


@Parameter(name="*", group=Group("Server", sort_key=8))
@dataclass(frozen=True, slots=True)
class ServerFlags:
    """The flags of commands that call a server, and methods that use them."""

    server: Address = ""
    token_file: TokenFile = None
    json: AsJson = False

    @property
    def client(self) -> Client:
        return Client(self.transport())

    def transport(self, *, seconds: float = SECONDS) -> HttpApiTransport:
        address = server_address(self.server)
        return HttpApiTransport(address, self._token(address), seconds)

    def tell(self, value: object, sentence: str) -> None:
        """Print the result of a call: the value for scripts, a sentence for people."""
        if self.json:
            print_json(value)
        else:
            print(sentence, flush=True)

    def print_table(
        self, answer: object, items: Iterable[object], columns: Sequence[Column]
    ) -> None:
        """Print the whole answer for scripts, or a table of its items for people."""
        if self.json:
            print_json(answer)
            return
        print_table(columns, items)
        if isinstance(answer, v1.PageOf) and answer.more:
            print(f"There are more: --page {answer.page + 1}")

    def _token(self, address: str) -> str:
        if self.token_file is None:
            kept = read_logins().tokens.get(address)
            return os.environ.get(TOKEN, "").strip() or (kept.secret if kept else "")
        try:
            return self.token_file.read_text(encoding="utf-8").strip().splitlines()[-1]
        except (OSError, UnicodeDecodeError, IndexError):
            raise BadArgument(f"There is no token in {self.token_file}.") from None


THE_SERVER = ServerFlags()
"""The default: no server is named."""


def server_address(named: str) -> str:
    """The address of the server: the named one, else the one in the environment, else that of the
    last login."""
    found = named or os.environ.get(SERVER) or read_logins().server or THIS_MACHINE
    return found.rstrip("/")


class KeptToken(msgspec.Struct, frozen=True):
    """A stored token, and the id by which it can be revoked."""

    id: str
    secret: str
    user: str


class Logins(msgspec.Struct, frozen=True):
    """The content of the file: the server of the last login, and a token for each server."""

    server: str = ""
    tokens: dict[str, KeptToken] = {}


def logins_path() -> Path:
    return platformdirs.user_config_path("rookery") / "logins.json"


def read_logins() -> Logins:
    """Read the file. An unreadable or broken one counts as empty; commands that need a token then
    ask for a login."""
    try:
        return msgspec.json.decode(logins_path().read_bytes(), type=Logins)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return Logins()


def write_logins(logins: Logins) -> None:
    file = logins_path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # A temporary file is readable only by its owner from the start.
        descriptor, name = tempfile.mkstemp(dir=file.parent)
        with os.fdopen(descriptor, "wb") as draft:
            draft.write(msgspec.json.format(msgspec.json.encode(logins)) + b"\n")
        Path(name).replace(file)
    except OSError as error:
        raise BadArgument(f"{file} can't be written: {error.strerror}.") from None


def login(
    *,
    server: Address = "",
    user: Annotated[str, option("your user name on the server", "NAME")] = "",
    password_stdin: Annotated[bool, option("read the password from stdin")] = False,
    days: Annotated[
        int | None, option("days until the token expires (default: never)", "N")
    ] = None,
) -> None:
    """Log in to a server with name and password, and save a token that it creates.

    Commands that call this server use the token: submit, runs, watch and others. The password is
    not saved.
    """
    address = server_address(server)
    name = user or ask("Name", "--user and --password-stdin")
    if address.startswith("http://") and not is_loopback(urlsplit(address).hostname or ""):
        print(f"Warning: the connection to {address} is not encrypted.", file=sys.stderr)
    transport = HttpApiTransport(address, login=(name, ask_password(from_stdin=password_stdin)))
    wish = people.NewToken(
        note=f"rookery login on {os.uname().nodename}"[:200],
        days=msgspec.UNSET if days is None else days,
    )
    made = Client(transport).make_token(wish)
    kept = KeptToken(made.token.id, made.secret, name)
    write_logins(Logins(address, read_logins().tokens | {address: kept}))
    print(f"Logged in to {address} as {name}; `rookery logout` logs out.")


def logout(*, server: Address = "") -> None:
    """Revoke the token that `rookery login` saved, and delete it."""
    address, before = server_address(server), read_logins()
    kept = before.tokens.get(address)
    if kept is None:
        raise BadArgument(f"You are not logged in to {address}.")
    try:
        HttpApiTransport(address, kept.secret).call("DELETE", f"{TOKENS}/{kept.id}")
    except CallRefused as refused:
        if refused.status not in (UNAUTHORIZED, NOT_FOUND):
            raise
    rest = {each: token for each, token in before.tokens.items() if each != address}
    write_logins(Logins("" if before.server == address else before.server, rest))
    print(f"Logged out from {address}.")


me = command_group(
    "me",
    "Show your account on a server, or change it.",
    """\
  rookery me show
  rookery me password
  rookery me repository Stockfish https://github.com/olga/Stockfish
  rookery me repository Stockfish --forget""",
)
Passwords = Annotated[
    bool, option("read the present password, and a new one after it, as lines from stdin")
]


@me.command(name="show")
def show_me(*, server: ServerFlags = THE_SERVER) -> None:
    """Show your account."""
    found = server.client.me()
    if server.json:
        print_json(found)
        return
    print(f"{found.name}{', an approver' if found.approver else ''} <{found.email}>")
    print(f"This token is for: {', '.join(found.scopes)}")
    print(f"Teams: {', '.join(found.teams) or 'none'}")
    print(f"Machines at once: {found.machine_limit}")
    for engine, repository in found.repositories.items():
        print(f"{engine}: {repository}")


@me.command
def password(*, password_stdin: Passwords = False, server: ServerFlags = THE_SERVER) -> None:
    """Change your password, which ends your other sessions."""
    present = ask_password("Present password", from_stdin=password_stdin)
    new = ask_password("New password", from_stdin=password_stdin)
    if not password_stdin and ask_password("The new password again", from_stdin=False) != new:
        raise BadArgument("The two new passwords differ.")
    change = people.MeChange(current_password=present, password=new)
    told = "Your password is changed; other sessions have ended, tokens stay."
    server.tell(server.client.change_me(change), told)


@me.command
def email(
    address: Annotated[str, option("shown to nobody but you")],
    /,
    *,
    password_stdin: Passwords = False,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Change your e-mail address."""
    present = ask_password("Present password", from_stdin=password_stdin)
    found = server.client.change_me(people.MeChange(current_password=present, email=address))
    server.tell(found, f"Your e-mail address is {found.email}.")


@me.command
def repository(
    engine: Annotated[str, option("name of the engine")],
    url: Annotated[str, option("your repository of the engine")] = "",
    /,
    *,
    forget: Annotated[bool, option("remove your repository of the engine")] = False,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Set the repository that holds your branches of an engine."""
    if bool(url) is forget:
        raise BadArgument("Give a URL or --forget.")
    wish = people.MeChange(repositories={engine: None if forget else url})
    found = server.client.change_me(wish)
    place = found.repositories.get(engine)
    told = (
        f"Your repository of {engine} is {place}."
        if place
        else f"You use {engine}'s usual repository."
    )
    server.tell(found, told)


team = command_group(
    "team",
    "Create teams on a server, list them, add or remove members.",
    """\
  rookery team create owls
  rookery team add owls sven --lead""",
)
TeamName = Annotated[str, option("name of the team", name="TEAM")]
Member = Annotated[str, option("name of the user", name="USER")]


@team.command(name="list")
def list_teams(*, server: ServerFlags = THE_SERVER) -> None:
    """List the teams that you may see."""
    found = server.client.teams()
    columns: list[Column] = [
        ("team", "{.name}"),
        ("led by", lambda each: ", ".join(each.leads)),
        ("members", _other_members),
    ]
    server.print_table(found, found.teams, columns)


@team.command
def create(name: TeamName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Create a team, and lead it."""
    _tell_members(server.client.create_team(name), server)


@team.command(name="add")
def add_member(
    name: TeamName,
    user: Member,
    /,
    *,
    lead: Annotated[bool, option("as a lead, who may add others")] = False,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Add a user to a team."""
    _tell_members(server.client.join_team(name, user, lead=lead), server)


@team.command(name="remove")
def remove_member(name: TeamName, user: Member, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Remove a user from a team."""
    _tell_members(server.client.leave_team(name, user), server)


def _tell_members(found: people.Team, server: ServerFlags) -> None:
    server.tell(found, f"{found.name}: {', '.join(found.members)}")


def _other_members(found: people.Team) -> str:
    return ", ".join(name for name in found.members if name not in found.leads)
