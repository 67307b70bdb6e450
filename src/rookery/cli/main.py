"""The command line's frame: loads the chosen command alone, turns complaints into exit codes."""

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import cast

from rookery import __version__
from rookery.cli.arguments import add_parser
from rookery.errors import Complaint

Run = Callable[[argparse.Namespace], int]

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Command:
    """A command's name, the module that holds it, its line in the overview, and the function of the
    module that fills its parser."""

    name: str
    module: str
    purpose: str
    arguments: str = "add_arguments"


COMMANDS = (
    Command("up", "rookery.cli.up", "start everything on this machine, with an account to log in"),
    Command("serve", "rookery.cli.serve", "start the server"),
    Command("worker", "rookery.cli.worker", "play for a server on this machine"),
    Command("match", "rookery.cli.match", "play engines against one another on this machine"),
    Command("tune", "rookery.cli.tune", "tune an engine's options by games on this machine"),
    Command("replay", "rookery.cli.replay", "play a recorded game again, find where it differs"),
    Command("fledgling", "rookery.cli.fledgling", "start the small chess engine that comes along"),
    Command("user", "rookery.cli.user", "add, list, approve, block users or set a password"),
    Command("token", "rookery.cli.token", "create, list or revoke access tokens"),
    Command("net", "rookery.cli.net", "add, list or remove nets"),
    Command("engine", "rookery.cli.engine", "add, import, list, show or write engine records"),
    Command("team", "rookery.cli.team", "make teams, list them, take members in or out"),
    Command("repo", "rookery.cli.repo", "say which repositories the server's credentials open"),
    Command("book", "rookery.cli.book", "add, list, remove or import opening books"),
    Command(
        "login",
        "rookery.cli.login",
        "have a server make a token for your commands, and keep it",
        "add_login_arguments",
    ),
    Command("logout", "rookery.cli.login", "end what login began", "add_logout_arguments"),
    Command("me", "rookery.cli.me", "show your account on a server, or change it"),
    Command("submit", "rookery.cli.submit", "create a run on a server"),
    Command("runs", "rookery.cli.runs", "list, look into, approve or stop runs on a server"),
    Command("machine", "rookery.cli.machine", "list, show, block or unblock machines of a server"),
    Command("watch", "rookery.cli.watch", "follow a run on a server until it is over"),
    Command("stats", "rookery.cli.stats", "calculate Elo, SPRT, power and expected length"),
    Command("db", "rookery.cli.db", "migrate, back up, restore or open the database"),
    Command(
        "boundaries",
        "rookery.cli.boundaries",
        "list what runs on the event loop and what in threads",
    ),
)

OVERVIEW = """\
A self-hosted testing farm for game engines.

Start with `rookery up`, then open the address it prints.
Each command explains itself: rookery COMMAND --help"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and gives its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        parsed = parser_for(given).parse_args(given)
        return cast("Run", parsed.run)(parsed)
    except Complaint as complaint:
        print(f"rookery: {complaint}", file=sys.stderr)
        return complaint.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away, as `head` does.
        sys.stderr.close()
        return 1


def parser_for(arguments: Sequence[str]) -> argparse.ArgumentParser:
    """The whole parser, of which only the chosen command's part is loaded."""
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    parser = argparse.ArgumentParser(
        prog="rookery", description=OVERVIEW, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"rookery {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        below = add_parser(commands, command.name, command.purpose)
        if command.name == chosen:
            _filler(command)(below)
    return parser


class NotInstalled(Complaint):
    """A command needs packages that this installation does not have."""


def _filler(command: Command) -> Callable[[argparse.ArgumentParser], None]:
    try:
        module = importlib.import_module(command.module)
        return cast("Callable[[argparse.ArgumentParser], None]", getattr(module, command.arguments))
    except ModuleNotFoundError as missing:
        raise NotInstalled(
            f"`rookery {command.name}` needs the server part, which is not installed here"
            f" ({missing.name} is missing); install it with: pip install 'rookery[server]'"
        ) from missing


if __name__ == "__main__":
    sys.exit(main())
