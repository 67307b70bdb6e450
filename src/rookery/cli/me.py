"""`rookery me`: one's own account on a server, shown and changed."""

import argparse
import getpass
import sys

from rookery.cli.arguments import Subcommands
from rookery.cli.calling import add_server_command, print_json, tell
from rookery.client.client import Client
from rookery.errors import Complaint
from rookery.protocol import people

EXAMPLES = """\
examples:

  rookery me show
  rookery me password
  rookery me repository Stockfish https://github.com/olga/Stockfish
  rookery me repository Stockfish --forget"""


class Unsaid(Complaint):
    """Something that is needed was not given."""

    exit_code = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    add_server_command(commands, "show", "show who you are there", _show)
    renewing = add_server_command(
        commands, "password", "change your password, which ends your other sessions", _password
    )
    writing = add_server_command(commands, "email", "change your e-mail address", _email)
    writing.add_argument("address", metavar="ADDRESS", help="shown to nobody but you")
    for each in (renewing, writing):
        each.add_argument(
            "--password-stdin",
            action="store_true",
            help="read the present password, and a new one after it, as lines from stdin",
        )
    keeping = add_server_command(
        commands, "repository", "say where your branches of an engine are", _repository
    )
    keeping.add_argument("engine", metavar="ENGINE", help="its name there")
    keeping.add_argument("url", nargs="?", default="", metavar="URL", help="your repository of it")
    keeping.add_argument("--forget", action="store_true", help="forget the one that is known")


def _show(client: Client, parsed: argparse.Namespace) -> None:
    me = client.me()
    if parsed.json:
        print_json(me)
        return
    print(f"{me.name}{', an approver' if me.approver else ''} <{me.email}>")
    print(f"This token is for: {', '.join(me.scopes)}")
    print(f"Teams: {', '.join(me.teams) or 'none'}")
    print(f"Machines at one time: {me.machine_limit}")
    for engine, repository in me.repositories.items():
        print(f"{engine}: {repository}")


def _password(client: Client, parsed: argparse.Namespace) -> None:
    present, new = _line(parsed, "Present password: "), _line(parsed, "New password: ")
    if not parsed.password_stdin and _line(parsed, "The new one again: ") != new:
        raise Unsaid("The two new passwords differ.")
    me = client.change_me(people.MeChange(current_password=present, password=new))
    tell(me, parsed, "Your password is changed; other sessions have ended, tokens stay.")


def _email(client: Client, parsed: argparse.Namespace) -> None:
    present = _line(parsed, "Present password: ")
    me = client.change_me(people.MeChange(current_password=present, email=parsed.address))
    tell(me, parsed, f"Your e-mail address is {me.email}.")


def _repository(client: Client, parsed: argparse.Namespace) -> None:
    if bool(parsed.url) is parsed.forget:
        raise Unsaid("Give a URL or --forget.")
    wish = {parsed.engine: None if parsed.forget else parsed.url}
    me = client.change_me(people.MeChange(repositories=wish))
    found = me.repositories.get(parsed.engine)
    told = f"is at {found}" if found else "is where the engine's record says"
    tell(me, parsed, f"{parsed.engine} {told}.")


def _line(parsed: argparse.Namespace, question: str) -> str:
    if parsed.password_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise Unsaid("Nobody is there to ask for a password; give --password-stdin.")
    return getpass.getpass(question)
