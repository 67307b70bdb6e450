"""`rookery user` and `rookery repo`: accounts, and the repositories that the server's credentials
open. They work on the database, whether a server runs or not."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from rookery.core.command import (
    BadArgument,
    Column,
    PasswordStdin,
    ask_password,
    command_group,
    option,
    print_table,
    single,
)
from rookery.core.model.actor import Actor
from rookery.core.model.events import SYSTEM
from rookery.core.model.machine import MACHINE_LIMIT
from rookery.core.model.run import RunFault
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.people import UserChange
from rookery.server.commands.db import THE_DATABASE, DatabaseSettings, open_database
from rookery.server.engines.grants import GrantedRepositories, GrantRows
from rookery.server.files.store import MB, load_usage
from rookery.server.identity.accounts import NewUser
from rookery.server.identity.users import Audit, User, Users, is_approver
from rookery.server.teams.teams import TeamRows, Teams

MOST_MACHINES = 2**31 - 1

user = command_group(
    "user",
    "Add, list, approve, block users or set a password.",
    """\
  rookery user add olga --approver
  rookery user approve sven
  rookery user groups olga approvers""",
)


def read_count(text: str) -> int:
    if not text.isdecimal() or int(text[:12]) > MOST_MACHINES:
        raise ValueError(f"expected a whole number from 0 to {MOST_MACHINES}.")
    return int(text)


def read_quota(text: str) -> int | Literal["default"]:
    return "default" if text == "default" else read_count(text)


Name = Annotated[str, option("the account's name")]


@user.command
async def add(
    name: Name,
    /,
    *,
    password_stdin: PasswordStdin = False,
    email: Annotated[str, option("e-mail address, which nobody else sees", "ADDRESS")] = "",
    approver: Annotated[bool, option("let the user approve runs of others")] = False,
    machine_limit: Annotated[
        int, option("tasks at once", "N", converter=single(read_count))
    ] = MACHINE_LIMIT,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Create an account that can be used at once."""
    async with open_database(database, create=True) as opened:
        password = _new_password(from_stdin=password_stdin)
        new = NewUser(name, password, email, approver, machine_limit)
        made = await opened.accounts.add(new)
        print(f"Added {made.name}{', an approver' if is_approver(made) else ''}.")


@user.command(name="list")
async def list_users(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """List all users."""
    async with open_database(database) as opened:
        used = await load_usage(opened.pool, opened.queries)
        everyone = await opened.accounts.users.list_all()
    columns: list[Column] = [
        ("name", "{.name}"),
        ("state", _state),
        ("machines", "{.machine_limit}"),
        ("since", "{.created:%Y-%m-%d}"),
        ("uploads in MB", lambda each: _uploads(each, used.get(each.name, 0))),
    ]
    print_table(columns, everyone)


async def _change(name: str, change: UserChange, database: DatabaseSettings, sentence: str) -> None:
    """Change an account and print a sentence about it."""
    async with open_database(database) as opened:
        await opened.accounts.change(name, change)
    print(sentence)


def _add_change(command: str, change: UserChange, purpose: str, sentence: str) -> None:
    """Add a command that takes only an account's name."""

    async def run(name: Name, /, *, database: DatabaseSettings = THE_DATABASE) -> None:
        await _change(name, change, database, sentence.format(name))

    user.command(run, name=command, help=purpose)


_add_change("block", UserChange(blocked=True), "Block a user.", "Blocked {}.")
_add_change("unblock", UserChange(blocked=False), "Unblock a user.", "Unblocked {}.")
_add_change(
    "approve",
    UserChange(pending=False),
    "Approve an account that somebody signed up for.",
    "{} can log in now.",
)


@user.command
async def reject(name: Name, /, *, database: DatabaseSettings = THE_DATABASE) -> None:
    """Remove an account that was never approved."""
    async with open_database(database) as opened:
        await opened.accounts.reject(name)
    print(f"Removed {name}.")


@user.command
async def groups(
    name: Name,
    group: Annotated[list[str] | None, option("groups, such as approvers (default: none)")] = None,
    /,
    *,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Set the groups that a user is in."""
    given = group or []
    await _change(
        name,
        UserChange(groups=tuple(given)),
        database,
        f"{name} is in {', '.join(given) or 'no group'}.",
    )


@user.command
async def limit(
    name: Name,
    machines: Annotated[int, option("how many tasks", converter=single(read_count), name="N")],
    /,
    *,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Set how many tasks a user may have at once."""
    await _change(
        name,
        UserChange(machine_limit=machines),
        database,
        f"{name} may have {machines} tasks at once.",
    )


@user.command
async def quota(
    name: Name,
    mb: Annotated[
        int | Literal["default"],
        option(
            "MB for nets, programs and books together, or default",
            converter=single(read_quota),
            show_choices=False,
        ),
    ],
    /,
    *,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Set how much a user may upload."""
    allowed = "what everybody may" if mb == "default" else f"{mb:,} MB"
    async with open_database(database) as opened:
        await opened.accounts.change(name, UserChange(), upload_mb=mb)
    print(f"{name} may keep {allowed} in nets, programs and books.")


@user.command
async def passwd(
    name: Name,
    /,
    *,
    password_stdin: PasswordStdin = False,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Set a user's password."""
    async with open_database(database) as opened:
        await opened.accounts.set_password(name, _new_password(from_stdin=password_stdin))
    print(f"{name} has a new password.")


def _state(user: User) -> str:
    if user.blocked or user.pending:
        return "blocked" if user.blocked else "pending"
    return "approver" if is_approver(user) else "user"


def _uploads(user: User, used: int) -> str:
    allowed = "" if user.upload_mb is None else f" of {user.upload_mb:,}"
    return f"{used / MB:,.1f}{allowed}"


def _new_password(*, from_stdin: bool) -> str:
    first = ask_password(from_stdin=from_stdin)
    if not from_stdin and ask_password("The same password again", from_stdin=False) != first:
        raise BadArgument("The two passwords differ.")
    return first


repo = command_group(
    "repo",
    "Let runs fetch private repositories with the server's own git credentials. Approvers can do"
    " the same by the API.",
    """\
  rookery repo grant https://git.example.org/owls/strix --team owls
  rookery repo list
  rookery repo revoke https://git.example.org/owls/strix --team owls""",
)
OPERATOR = Actor(SYSTEM, approver=True)
Address = Annotated[str, option("address of the repository", name="URL")]
ForTeam = Annotated[
    str, option("only for runs of this team's members (default: for all runs)", "TEAM")
]


@repo.command(name="list")
async def list_grants(*, database: DatabaseSettings = THE_DATABASE) -> None:
    """List the granted repositories."""
    async with _repositories(database) as repositories:
        found = repositories.list_visible(OPERATOR)
    columns: list[Column] = [
        ("repository", "{.repository}"),
        ("for", lambda each: each.team or "everybody"),
        ("granted by", "{.granted_by}"),
        ("since", "{.granted:%Y-%m-%d}"),
    ]
    print_table(columns, found)


@repo.command
async def grant(
    url: Address, /, *, team: ForTeam = "", database: DatabaseSettings = THE_DATABASE
) -> None:
    """Let runs fetch a repository with the server's credentials."""
    async with _repositories(database) as repositories:
        granted = await repositories.grant(url, team, OPERATOR)
    whom = granted.team or "everybody who may submit runs"
    print(f"{granted.repository} is fetched with the server's credentials for {whom}.")


@repo.command
async def revoke(
    url: Address, /, *, team: ForTeam = "", database: DatabaseSettings = THE_DATABASE
) -> None:
    """Stop fetching a repository with the server's credentials."""
    async with _repositories(database) as repositories:
        await repositories.revoke(url, team, OPERATOR)
    print(f"{url} is fetched without credentials now.")


@asynccontextmanager
async def _repositories(database: DatabaseSettings) -> AsyncIterator[GrantedRepositories]:
    """Yield the loaded grants. A refusal in the block becomes a BadArgument."""
    async with open_database(database) as opened:
        pool, queries, clock = opened.pool, opened.queries, opened.accounts.clock
        audit = Audit(pool, queries)
        teams = Teams(TeamRows(pool, queries), Users(pool, queries), clock, audit)
        await teams.load()
        found = GrantedRepositories(GrantRows(pool, queries), teams, clock, audit)
        await found.load()
        try:
            yield found
        except (RunFault, WireFault) as fault:
            text = str(fault)
            raise BadArgument(f"{text[:1].upper()}{text[1:]}.") from None
