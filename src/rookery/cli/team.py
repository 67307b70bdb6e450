"""`rookery team`: makes teams on a server, and takes members in or out."""

import argparse

from rookery.cli.arguments import Subcommands, table
from rookery.cli.calling import Work, add_server_command, print_json, tell
from rookery.client.client import Client
from rookery.protocol import people

EXAMPLES = """\
examples:

  rookery team create owls
  rookery team add owls sven --lead"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    add_server_command(commands, "list", "list the teams that you may know of", _list)
    works: tuple[tuple[str, str, Work], ...] = (
        ("create", "make a team, and lead it", _create),
        ("add", "take somebody in", _add),
        ("remove", "take somebody out", _remove),
    )
    made = {name: add_server_command(commands, name, text, work) for name, text, work in works}
    for each in made.values():
        each.add_argument("team", metavar="TEAM")
    for name in ("add", "remove"):
        made[name].add_argument("user", metavar="USER")
    made["add"].add_argument("--lead", action="store_true", help="who may take others in")


def _list(client: Client, parsed: argparse.Namespace) -> None:
    found = client.teams()
    if parsed.json:
        print_json(found)
        return
    rows = [(team.name, ", ".join(team.leads), ", ".join(_others(team))) for team in found.teams]
    print(table(("team", "led by", "members"), rows))


def _create(client: Client, parsed: argparse.Namespace) -> None:
    _tell(client.create_team(parsed.team), parsed)


def _add(client: Client, parsed: argparse.Namespace) -> None:
    _tell(client.join_team(parsed.team, parsed.user, lead=parsed.lead), parsed)


def _remove(client: Client, parsed: argparse.Namespace) -> None:
    _tell(client.leave_team(parsed.team, parsed.user), parsed)


def _tell(team: people.TeamEntry, parsed: argparse.Namespace) -> None:
    tell(team, parsed, f"{team.name}: {', '.join(team.members)}")


def _others(team: people.TeamEntry) -> list[str]:
    return [name for name in team.members if name not in team.leads]
