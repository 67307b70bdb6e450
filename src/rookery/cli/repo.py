"""`rookery repo`: which repositories the server opens with its own credentials, and for whom.

The operator says so here, in the server's database; approvers may by the API.
"""

import argparse

from rookery.cli.arguments import Subcommands, table
from rookery.cli.reaching import Reached, add_command
from rookery.errors import Complaint
from rookery.model.events import SYSTEM
from rookery.model.run import RunFault
from rookery.people.teams import TeamRows, Teams
from rookery.people.users import Audit, Users
from rookery.protocol.codec import WireFault
from rookery.rules.lifecycle import Actor
from rookery.sources.grants import GrantRows, Repositories

EXAMPLES = """\
examples:

  rookery repo grant https://git.example.org/owls/strix --team owls
  rookery repo list
  rookery repo revoke https://git.example.org/owls/strix --team owls"""
OPERATOR = Actor(SYSTEM, approver=True)


class NotDone(Complaint):
    """What was asked for can't be done."""

    exit_code = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    add_command(commands, "list", "list what is granted", _list)
    granting = add_command(
        commands, "grant", "have a repository opened with the server's credentials", _grant
    )
    revoking = add_command(commands, "revoke", "have it opened as a stranger would", _revoke)
    for each in (granting, revoking):
        each.add_argument("repository", metavar="URL", help="where engines come from")
        each.add_argument(
            "--team", default="", metavar="TEAM", help="for runs of its members (default: of all)"
        )


async def _list(reached: Reached, parsed: argparse.Namespace) -> None:
    del parsed
    found = (await _repositories(reached)).seen_by(OPERATOR)
    rows = [
        (each.repository, each.team or "everybody", each.granted_by, f"{each.granted:%Y-%m-%d}")
        for each in found
    ]
    print(table(("repository", "for", "granted by", "since"), rows))


async def _grant(reached: Reached, parsed: argparse.Namespace) -> None:
    try:
        granted = await (await _repositories(reached)).grant(
            parsed.repository, parsed.team, OPERATOR
        )
    except (RunFault, WireFault) as fault:
        raise NotDone(_sentence(fault)) from None
    whom = granted.team or "everybody who may submit runs"
    print(f"{granted.repository} is opened with the server's credentials for {whom}.")


async def _revoke(reached: Reached, parsed: argparse.Namespace) -> None:
    try:
        await (await _repositories(reached)).revoke(parsed.repository, parsed.team, OPERATOR)
    except (RunFault, WireFault) as fault:
        raise NotDone(_sentence(fault)) from None
    print(f"{parsed.repository} is opened as a stranger would.")


async def _repositories(reached: Reached) -> Repositories:
    pool, queries, clock = reached.pool, reached.queries, reached.accounts.clock
    audit = Audit(pool, queries)
    teams = Teams(TeamRows(pool, queries), Users(pool, queries), clock, audit)
    await teams.load()
    found = Repositories(GrantRows(pool, queries), teams, clock, audit)
    await found.load()
    return found


def _sentence(fault: Exception) -> str:
    text = str(fault)
    return f"{text[:1].upper()}{text[1:]}."
