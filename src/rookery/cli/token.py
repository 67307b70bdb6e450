"""`rookery token`: makes, lists and revokes access tokens, while a server runs or not."""

import argparse
from datetime import datetime, timedelta

from rookery.cli.reaching import Reached, add_command
from rookery.cli.subcommands import Subcommands
from rookery.cli.tables import table
from rookery.service.tokens import ORDINARY, Scope, Token

LONGEST_DAYS = 3650


EXAMPLES = """\
examples:

  rookery token create --user olga
  rookery token create --user olga --worker --note 'the box in the cellar'
  rookery token revoke ID"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = Subcommands(parser)
    making = add_command(
        commands, "create", "make a token and print it, once, on the last line", _create
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
    listing = add_command(commands, "list", "list tokens; their secrets are not kept", _list)
    listing.add_argument("--user", default="", metavar="NAME", help="only those of one user")
    revoking = add_command(commands, "revoke", "end a token for good", _revoke)
    revoking.add_argument("id", metavar="ID", help="as `rookery token list` shows it")


async def _create(reached: Reached, parsed: argparse.Namespace) -> None:
    scopes = frozenset(map(Scope, parsed.scope or ()))
    if parsed.worker:
        scopes |= {Scope.WORKER}
    lasting = None if parsed.days is None else timedelta(days=parsed.days)
    minted = await reached.accounts.create_token(
        parsed.user, scopes or ORDINARY, lasting=lasting, note=parsed.note
    )
    token = minted.token
    print(f"Token {token.id} of {token.user} for {_scopes(token)}, shown this once:")
    print(minted.secret)


async def _list(reached: Reached, parsed: argparse.Namespace) -> None:
    now = reached.accounts.clock.now()
    rows = [_row(token, now) for token in await reached.accounts.tokens_of(parsed.user)]
    print(table(("id", "user", "for", "standing", "created", "last used", "note"), rows))


async def _revoke(reached: Reached, parsed: argparse.Namespace) -> None:
    await reached.accounts.revoke(parsed.id)
    print(f"Revoked {parsed.id}.")


def _row(token: Token, now: datetime) -> tuple[str, ...]:
    return (
        token.id,
        token.user,
        _scopes(token),
        _standing(token, now),
        f"{token.created:%Y-%m-%d}",
        "never" if token.used is None else f"{token.used:%Y-%m-%d}",
        token.note,
    )


def _standing(token: Token, now: datetime) -> str:
    if token.revoked is not None:
        return "revoked"
    if token.expires is None:
        return "valid"
    return f"until {token.expires:%Y-%m-%d}" if token.is_valid(now) else "expired"


def _scopes(token: Token) -> str:
    return ", ".join(scope for scope in Scope if scope in token.scopes)


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:6]) <= LONGEST_DAYS:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1 to {LONGEST_DAYS}")
    return int(text)
