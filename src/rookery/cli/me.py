"""`rookery me` and `rookery team`: one's own account on a server, and the teams there."""

from typing import Annotated

from rookery.cli.login import THE_SERVER, ServerFlags
from rookery.cli.options import (
    BadArgument,
    ask_password,
    command_group,
    option,
    print_json,
    print_table,
)
from rookery.protocol import people

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
    """Show who you are there."""
    found = server.client.me()
    if server.json:
        print_json(found)
        return
    print(f"{found.name}{', an approver' if found.approver else ''} <{found.email}>")
    print(f"This token is for: {', '.join(found.scopes)}")
    print(f"Teams: {', '.join(found.teams) or 'none'}")
    print(f"Machines at one time: {found.machine_limit}")
    for engine, repository in found.repositories.items():
        print(f"{engine}: {repository}")


@me.command
def password(*, password_stdin: Passwords = False, server: ServerFlags = THE_SERVER) -> None:
    """Change your password, which ends your other sessions."""
    present = ask_password("Present password", from_stdin=password_stdin)
    new = ask_password("New password", from_stdin=password_stdin)
    if not password_stdin and ask_password("The new one again", from_stdin=False) != new:
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
    engine: Annotated[str, option("its name there")],
    url: Annotated[str, option("your repository of it")] = "",
    /,
    *,
    forget: Annotated[bool, option("forget the one that is known")] = False,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Say where your branches of an engine are."""
    if bool(url) is forget:
        raise BadArgument("Give a URL or --forget.")
    wish = people.MeChange(repositories={engine: None if forget else url})
    found = server.client.change_me(wish)
    place = found.repositories.get(engine)
    told = f"is at {place}" if place else "is where the engine's record says"
    server.tell(found, f"{engine} {told}.")


team = command_group(
    "team",
    "Make teams on a server, list them, take members in or out.",
    """\
  rookery team create owls
  rookery team add owls sven --lead""",
)
TeamName = Annotated[str, option("its name", name="TEAM")]
Member = Annotated[str, option("whom", name="USER")]


@team.command(name="list")
def list_teams(*, server: ServerFlags = THE_SERVER) -> None:
    """List the teams that you may know of."""
    found = server.client.teams()
    if server.json:
        print_json(found)
        return
    rows = [(each.name, ", ".join(each.leads), ", ".join(_others(each))) for each in found.teams]
    print_table(("team", "led by", "members"), rows)


@team.command
def create(name: TeamName, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Make a team, and lead it."""
    _tell_members(server.client.create_team(name), server)


@team.command(name="add")
def add_member(
    name: TeamName,
    user: Member,
    /,
    *,
    lead: Annotated[bool, option("who may take others in")] = False,
    server: ServerFlags = THE_SERVER,
) -> None:
    """Take somebody in."""
    _tell_members(server.client.join_team(name, user, lead=lead), server)


@team.command(name="remove")
def remove_member(name: TeamName, user: Member, /, *, server: ServerFlags = THE_SERVER) -> None:
    """Take somebody out."""
    _tell_members(server.client.leave_team(name, user), server)


def _tell_members(found: people.Team, server: ServerFlags) -> None:
    server.tell(found, f"{found.name}: {', '.join(found.members)}")


def _others(found: people.Team) -> list[str]:
    return [name for name in found.members if name not in found.leads]
