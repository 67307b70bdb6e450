"""Flags of the commands that call a server: which one, and with whose token."""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from rookery.cli.arguments import Subcommands
from rookery.cli.login import SERVER, THIS_MACHINE, read_logins, server_of
from rookery.client.client import Client
from rookery.client.transport import HttpApiTransport
from rookery.errors import Complaint
from rookery.http_client import SECONDS

TOKEN = "ROOKERY_TOKEN"  # noqa: S105 - the name of a variable
Work = Callable[[Client, argparse.Namespace], int | None]


class NoToken(Complaint):
    """A token file can't be read."""

    exit_code = 2


def add_server(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("server")
    group.add_argument(
        "--server",
        metavar="URL",
        help=f"where it is (default: where you logged in last, or {THIS_MACHINE}) [{SERVER}]",
    )
    # Not the token itself: everybody on a machine can read the words of a command.
    group.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"file with an access token (default: that of `rookery login`) [{TOKEN}]",
    )
    parser.add_argument("--json", action="store_true", help="answer in JSON, for scripts")


def add_server_command(
    commands: Subcommands, name: str, purpose: str, work: Work
) -> argparse.ArgumentParser:
    """A command that calls a server; its work may give an exit code."""
    parser = commands.add(name, purpose, lambda parsed: work(client_of(parsed), parsed) or 0)
    add_server(parser)
    return parser


def tell(value: object, parsed: argparse.Namespace, sentence: str) -> None:
    """What came of a call: the value for scripts, a sentence for people."""
    if parsed.json:
        print_json(value)
    else:
        print(sentence, flush=True)


def print_json(value: object) -> None:
    print(msgspec.json.encode(value).decode())


def client_of(parsed: argparse.Namespace) -> Client:
    return Client(transport_of(parsed))


def transport_of(parsed: argparse.Namespace, *, seconds: float = SECONDS) -> HttpApiTransport:
    server = server_of(parsed)
    return HttpApiTransport(server, _token(parsed.token_file, server), seconds)


def _token(file: Path | None, server: str) -> str:
    if file is None:
        kept = read_logins().tokens.get(server)
        return os.environ.get(TOKEN, "").strip() or (kept.secret if kept else "")
    try:
        return file.read_text(encoding="utf-8").strip().splitlines()[-1]
    except (OSError, UnicodeDecodeError, IndexError):
        raise NoToken(f"There is no token in {file}.") from None
