"""The account on a server: `rookery login`, `logout`, `me` and `team`."""

import os
import sys
from typing import Annotated
from urllib.parse import urlsplit

import msgspec

from rookery.core.client.client import Client
from rookery.core.client.logins import (
    THE_SERVER,
    Address,
    KeptToken,
    Logins,
    ServerFlags,
    read_logins,
    server_address,
    write_logins,
)
from rookery.core.client.transport import HttpApiTransport
from rookery.core.command import (
    BadArgument,
    Column,
    ask,
    ask_password,
    command_group,
    option,
    print_json,
)
from rookery.core.http_failures import CallRefused
from rookery.core.http_places import is_loopback
from rookery.core.protocol import people

TOKENS = "/api/v1/tokens"
NOT_FOUND = 404
UNAUTHORIZED = 401


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
