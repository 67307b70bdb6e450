"""`rookery user`: makes accounts and changes them, while a server runs or not."""

import argparse
import getpass
import sys
from typing import Literal

from rookery.cli.arguments import Subcommands, table
from rookery.cli.reaching import Reached, add_command
from rookery.errors import Complaint
from rookery.files.store import MB, used_by_user
from rookery.people.accounts import MACHINE_LIMIT, AccountChange, NewUser
from rookery.people.users import User, group_named, is_approver

MOST_MACHINES = 2**31 - 1


class NoPassword(Complaint):
    """A password is needed."""

    exit_code = 2


EXAMPLES = """\
examples:

  rookery user add olga --approver
  rookery user approve sven
  rookery user groups olga approvers"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    adding = add_command(
        commands, "add", "make an account that can be used at once", _add, create=True
    )
    adding.add_argument("name", metavar="NAME")
    _add_password(adding)
    adding.add_argument("--email", default="", metavar="ADDRESS", help="shown to nobody")
    adding.add_argument("--approver", action="store_true", help="may approve runs of others")
    adding.add_argument(
        "--machine-limit",
        type=_machines,
        default=MACHINE_LIMIT,
        metavar="N",
        help=f"tasks at one time (default: {MACHINE_LIMIT})",
    )
    add_command(commands, "list", "list all users", _list)
    for name, purpose, work in (
        ("block", "let a user do nothing any more", _block),
        ("unblock", "let a blocked user back in", _unblock),
        ("approve", "accept an account that somebody signed up for", _approve),
        ("reject", "remove an account that was never approved", _reject),
    ):
        add_command(commands, name, purpose, work).add_argument("name", metavar="NAME")
    grouping = add_command(commands, "groups", "put a user into these groups and no other", _groups)
    grouping.add_argument("name", metavar="NAME")
    grouping.add_argument("group", nargs="*", metavar="GROUP", help="such as approvers")
    limiting = add_command(commands, "limit", "say how many tasks a user may have at once", _limit)
    limiting.add_argument("name", metavar="NAME")
    limiting.add_argument("machines", type=_machines, metavar="N")
    allowing = add_command(commands, "quota", "say how much a user may keep here", _quota)
    allowing.add_argument("name", metavar="NAME")
    allowing.add_argument(
        "mb", type=_mb, metavar="MB", help="nets, programs and books together; or default"
    )
    setting = add_command(commands, "passwd", "give a user a new password", _passwd)
    setting.add_argument("name", metavar="NAME")
    _add_password(setting)


async def _add(reached: Reached, parsed: argparse.Namespace) -> None:
    new = NewUser(
        parsed.name, _password(parsed), parsed.email, parsed.approver, parsed.machine_limit
    )
    user = await reached.accounts.add(new)
    print(f"Added {user.name}{', an approver' if is_approver(user) else ''}.")


async def _list(reached: Reached, _parsed: argparse.Namespace) -> None:
    used = await used_by_user(reached.pool, reached.queries)
    everyone = await reached.accounts.users.everyone()
    rows = [_row(user, used.get(user.name, 0)) for user in everyone]
    print(table(("name", "standing", "machines", "since", "uploads in MB"), rows))


async def _block(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.change(parsed.name, AccountChange(blocked=True))
    print(f"Blocked {parsed.name}.")


async def _unblock(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.change(parsed.name, AccountChange(blocked=False))
    print(f"Unblocked {parsed.name}.")


async def _approve(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.change(parsed.name, AccountChange(accepted=True))
    print(f"{parsed.name} may log in.")


async def _reject(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.reject(parsed.name)
    print(f"Removed {parsed.name}.")


async def _groups(reached: Reached, parsed: argparse.Namespace) -> None:
    groups = frozenset(map(group_named, parsed.group))
    await reached.accounts.change(parsed.name, AccountChange(groups=groups))
    print(f"{parsed.name} is in {', '.join(parsed.group) or 'no group'}.")


async def _limit(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.change(parsed.name, AccountChange(machine_limit=parsed.machines))
    print(f"{parsed.name} may have {parsed.machines} tasks at one time.")


async def _quota(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.change(parsed.name, AccountChange(upload_mb=parsed.mb))
    allowed = "what everybody may" if parsed.mb == "default" else f"{parsed.mb:,} MB"
    print(f"{parsed.name} may keep {allowed} in nets, programs and books.")


async def _passwd(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.set_password(parsed.name, _password(parsed))
    print(f"{parsed.name} has a new password.")


def _row(user: User, used: int) -> tuple[str, ...]:
    standing = "approver" if is_approver(user) else "user"
    if user.blocked:
        standing = "blocked"
    elif user.pending:
        standing = "pending"
    uploads = f"{used / MB:,.1f}"
    if user.upload_mb is not None:
        uploads += f" of {user.upload_mb:,}"
    return user.name, standing, str(user.machine_limit), f"{user.created:%Y-%m-%d}", uploads


def _add_password(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--password-stdin",
        action="store_true",
        help="read the password from the first line of standard input instead of asking for it",
    )


def _password(parsed: argparse.Namespace) -> str:
    if parsed.password_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise NoPassword("Nobody is there to ask for a password; give --password-stdin.")
    first = getpass.getpass("Password: ")
    if getpass.getpass("The same again: ") != first:
        raise NoPassword("The two passwords differ.")
    return first


def _mb(text: str) -> int | Literal["default"]:
    return "default" if text == "default" else _machines(text)


def _machines(text: str) -> int:
    if not text.isdecimal() or int(text[:12]) > MOST_MACHINES:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 to {MOST_MACHINES}")
    return int(text)
