"""`rookery token`: makes, lists and revokes access tokens, in the local database or on a server."""

import asyncio
from datetime import datetime, timedelta
from typing import Annotated

from msgspec import UNSET
from msgspec.structs import replace

from rookery.core.client.client import Client
from rookery.core.client.logins import ServerFlags, TokenFile
from rookery.core.client.transport import HttpApiTransport
from rookery.core.command import (
    AsJson,
    Column,
    ask_password,
    command_group,
    if_known,
    option,
    print_json,
    print_table,
    single,
)
from rookery.core.protocol import people
from rookery.server.commands.db import THE_DATABASE, DatabaseSettings, open_database
from rookery.server.identity.users import ORDINARY, Scope

LONGEST_DAYS = 3650

token = command_group(
    "token",
    "Create, list or revoke access tokens.",
    """\
  rookery token create --user olga
  rookery token create --user olga --worker --note 'the box in the cellar'
  rookery token revoke ID
  rookery token list --server https://farm.example.org""",
)
There = Annotated[
    str, option("your own tokens on this server, instead of this machine's database", "URL")
]


def read_days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:6]) <= LONGEST_DAYS:
        raise ValueError(f"expected a whole number from 1 to {LONGEST_DAYS}.")
    return int(text)


@token.command
def create(  # noqa: PLR0913 - each is a flag
    *,
    user: Annotated[str, option("owner of the token", "NAME")],
    scope: Annotated[
        list[Scope] | None,
        option("what the token allows; may be repeated (default: the first three)", "SCOPE"),
    ] = None,
    worker: Annotated[
        bool, option("a token for workers, which use it instead of the password")
    ] = False,
    days: Annotated[
        int | None,
        option("days until it expires (default: never)", "N", converter=single(read_days)),
    ] = None,
    note: Annotated[str, option("what it will be used for", "TEXT")] = "",
    password_stdin: Annotated[bool, option("with --server: read the password from stdin")] = False,
    server: There = "",
    json: AsJson = False,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Create a token and print it, once, on the last line."""
    scopes = frozenset((*(scope or ()), *((Scope.WORKER,) if worker else ())))
    if server:
        # A token can't make another one.
        login = (user, ask_password(from_stdin=password_stdin))
        wish = people.NewToken(note=note, days=UNSET if days is None else days)
        if scopes:
            wish = replace(wish, scopes=tuple(each.value for each in sorted(scopes)))
        made = Client(HttpApiTransport(server, login=login)).make_token(wish)
    else:
        made = asyncio.run(_create_here(database, user, scopes or ORDINARY, days, note))
    if json:
        print_json(made)
        return
    print(f"Token {made.token.id} of {user} for {_scopes(made.token)}, shown this once:")
    print(made.secret, flush=True)


@token.command(name="list")
def list_tokens(
    *,
    user: Annotated[str, option("only tokens of this user", "NAME")] = "",
    server: There = "",
    token_file: TokenFile = None,
    json: AsJson = False,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """List tokens; their secrets are not kept."""
    if server:
        found = ServerFlags(server, token_file).client.tokens()
        entries = [("", each) for each in found.tokens]
    else:
        entries = asyncio.run(_list_here(database, user))
        found = people.TokenList(tokens=tuple(entry for _, entry in entries))
    if json:
        print_json(found)
        return
    print_table(COLUMNS, entries)


@token.command
def revoke(
    id: Annotated[str, option("as `rookery token list` shows it")],  # noqa: A002 - its name
    /,
    *,
    server: There = "",
    token_file: TokenFile = None,
    json: AsJson = False,
    database: DatabaseSettings = THE_DATABASE,
) -> None:
    """Revoke a token."""
    ended: object = {"id": id, "valid": False}
    if server:
        ended = ServerFlags(server, token_file).client.revoke_token(id)
    else:
        asyncio.run(_revoke_here(database, id))
    if json:
        print_json(ended)
    else:
        print(f"Revoked {id}.")


async def _create_here(
    database: DatabaseSettings, user: str, scopes: frozenset[Scope], days: int | None, note: str
) -> people.MadeToken:
    """Make a token in the local database."""
    lasting = None if days is None else timedelta(days=days)
    async with open_database(database) as opened:
        minted = await opened.accounts.create_token(user, scopes, lasting=lasting, note=note)
        entry = minted.token.shown(opened.accounts.clock.now())
    return people.MadeToken(secret=minted.secret, token=entry)


async def _list_here(database: DatabaseSettings, user: str) -> list[tuple[str, people.TokenEntry]]:
    async with open_database(database) as opened:
        now, kept = opened.accounts.clock.now(), await opened.accounts.list_tokens(user)
    return [(each.user, each.shown(now)) for each in kept]


async def _revoke_here(database: DatabaseSettings, token_id: str) -> None:
    async with open_database(database) as opened:
        await opened.accounts.revoke(token_id)


def _state(token: people.TokenEntry) -> str:
    if isinstance(token.revoked, datetime):
        return "revoked"
    if not isinstance(token.expires, datetime):
        return "valid"
    return f"until {token.expires:%Y-%m-%d}" if token.valid else "expired"


def _scopes(token: people.TokenEntry) -> str:
    return ", ".join(scope for scope in Scope if scope in token.scopes)


COLUMNS: tuple[Column, ...] = (
    ("id", "{0[1].id}"),
    ("user", lambda owned: owned[0] or "you"),
    ("for", lambda owned: _scopes(owned[1])),
    ("state", lambda owned: _state(owned[1])),
    ("created", "{0[1].created:%Y-%m-%d}"),
    ("last used", lambda owned: if_known("used", "{:%Y-%m-%d}", "never")(owned[1])),
    ("note", "{0[1].note}"),
)
"""The columns of a table whose items are pairs of an owner's name and a token."""
