"""`rookery token`: makes, lists and revokes access tokens, on this machine or on a server."""

import argparse
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

from msgspec import UNSET
from msgspec.structs import replace

from rookery.cli.arguments import Subcommands, table
from rookery.cli.calling import client_of, tell
from rookery.cli.login import password_of
from rookery.cli.reaching import Reached, Work, add_command
from rookery.client.client import Client
from rookery.client.transport import HttpApiTransport
from rookery.people.users import ORDINARY, Scope, Token
from rookery.protocol import people

LONGEST_DAYS = 3650


EXAMPLES = """\
examples:

  rookery token create --user olga
  rookery token create --user olga --worker --note 'the box in the cellar'
  rookery token revoke ID
  rookery token list --server https://farm.example.org"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    making = _add_either(
        commands,
        "create",
        "make a token and print it, once, on the last line",
        _create,
        _create_there,
    )
    making.add_argument(
        "--password-stdin", action="store_true", help="with --server: read the password from stdin"
    )
    making.add_argument("--user", required=True, metavar="NAME", help="whose token it is")
    making.add_argument(
        "--scope",
        action="append",
        choices=[scope.value for scope in Scope],
        metavar="SCOPE",
        help="what it is for, may be repeated: read, submit, approve, admin"
        " (default: the first three)",
    )
    making.add_argument(
        "--worker",
        action="store_true",
        help="a token for workers, which they send in place of the password",
    )
    making.add_argument("--days", type=_days, metavar="N", help="valid for so long")
    making.add_argument("--note", default="", metavar="TEXT", help="what it will be used for")
    listing = _add_either(
        commands, "list", "list tokens; their secrets are not kept", _list, _list_there
    )
    listing.add_argument("--user", default="", metavar="NAME", help="only those of one user")
    revoking = _add_either(commands, "revoke", "end a token for good", _revoke, _revoke_there)
    revoking.add_argument("id", metavar="ID", help="as `rookery token list` shows it")


def _add_either(
    commands: Subcommands, name: str, purpose: str, here: Work, there: Callable[..., None]
) -> argparse.ArgumentParser:
    """A command that works on the database of this machine, or by the API of a server."""
    parser = add_command(commands, name, purpose, here)
    locally = cast("Callable[[argparse.Namespace], int]", parser.get_default("run"))

    def run(parsed: argparse.Namespace) -> int:
        if not parsed.server:
            return locally(parsed)
        there(parsed)
        return 0

    parser.set_defaults(run=run)
    group = parser.add_argument_group("server")
    group.add_argument(
        "--server", metavar="URL", help="your own tokens there, instead of this machine's database"
    )
    group.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="file with an access token (default: that of `rookery login`) [ROOKERY_TOKEN]",
    )
    parser.add_argument("--json", action="store_true", help="answer in JSON, for scripts")
    return parser


def _create_there(parsed: argparse.Namespace) -> None:
    """Takes the password, because no token makes another."""
    client = Client(HttpApiTransport(parsed.server, login=(parsed.user, password_of(parsed))))
    wish = people.NewToken(note=parsed.note, days=UNSET if parsed.days is None else parsed.days)
    scopes = (*(parsed.scope or ()), *(("worker",) if parsed.worker else ()))
    made = client.make_token(replace(wish, scopes=scopes) if scopes else wish)
    _tell_made(made, parsed, parsed.user)


def _list_there(parsed: argparse.Namespace) -> None:
    found = client_of(parsed).tokens()
    _tell_list(found, parsed, [("", token) for token in found.tokens])


def _revoke_there(parsed: argparse.Namespace) -> None:
    tell(client_of(parsed).revoke_token(parsed.id), parsed, f"Revoked {parsed.id}.")


async def _create(reached: Reached, parsed: argparse.Namespace) -> None:
    scopes = frozenset(map(Scope, parsed.scope or ()))
    if parsed.worker:
        scopes |= {Scope.WORKER}
    lasting = None if parsed.days is None else timedelta(days=parsed.days)
    minted = await reached.accounts.create_token(
        parsed.user, scopes or ORDINARY, lasting=lasting, note=parsed.note
    )
    entry = _entry(minted.token, reached.accounts.clock.now())
    _tell_made(people.MadeToken(secret=minted.secret, token=entry), parsed, parsed.user)


async def _list(reached: Reached, parsed: argparse.Namespace) -> None:
    now = reached.accounts.clock.now()
    found = await reached.accounts.tokens_of(parsed.user)
    entries = [(token.user, _entry(token, now)) for token in found]
    listed = people.TokenList(tokens=tuple(entry for _, entry in entries))
    _tell_list(listed, parsed, entries)


async def _revoke(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.revoke(parsed.id)
    tell({"id": parsed.id, "valid": False}, parsed, f"Revoked {parsed.id}.")


def _tell_made(made: people.MadeToken, parsed: argparse.Namespace, user: str) -> None:
    token = made.token
    told = f"Token {token.id} of {user} for {_scopes(token)}, shown this once:"
    tell(made, parsed, f"{told}\n{made.secret}")


def _tell_list(
    found: people.TokenList,
    parsed: argparse.Namespace,
    tokens: list[tuple[str, people.TokenEntry]],
) -> None:
    heads = ("id", "user", "for", "standing", "created", "last used", "note")
    tell(found, parsed, table(heads, [_row(user, token) for user, token in tokens]))


def _entry(token: Token, now: datetime) -> people.TokenEntry:
    return people.TokenEntry(
        id=token.id,
        scopes=tuple(scope.value for scope in sorted(token.scopes)),
        note=token.note,
        created=token.created,
        valid=token.is_valid(now),
        current=False,
        expires=token.expires or UNSET,
        revoked=token.revoked or UNSET,
        used=token.used or UNSET,
    )


def _row(user: str, token: people.TokenEntry) -> tuple[str, ...]:
    return (
        token.id,
        user or "you",
        _scopes(token),
        _standing(token),
        f"{token.created:%Y-%m-%d}",
        f"{token.used:%Y-%m-%d}" if isinstance(token.used, datetime) else "never",
        token.note,
    )


def _standing(token: people.TokenEntry) -> str:
    if isinstance(token.revoked, datetime):
        return "revoked"
    if not isinstance(token.expires, datetime):
        return "valid"
    return f"until {token.expires:%Y-%m-%d}" if token.valid else "expired"


def _scopes(token: people.TokenEntry) -> str:
    return ", ".join(scope for scope in Scope if scope in token.scopes)


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:6]) <= LONGEST_DAYS:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {LONGEST_DAYS}")
    return int(text)
