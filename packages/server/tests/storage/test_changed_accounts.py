"""Accounts and tokens that another process changes count here at once, without waiting for a
memory to grow old: the clock of these tests stands still."""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.db.listening import ChangeNotices, Channel, Listening
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.http.session import LoggedOutSessions, SessionData, session_digest
from rookery.server.identity.bearers import Bearers, forget_changed_accounts
from rookery.server.identity.login import AccountBlocked, WrongCredentials
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import EndedSessions, Scope, Tokens, TokenWithSecret, Users, mint
from rookery.server.identity.worker_credentials import WorkerCredentials
from rookery.server.identity.worker_tokens import WorkerTokens
from rookery.server.logs import SilentLog
from tests.database import pool_on, statement
from tests.eventually import eventually
from tests.fakes import HandClock
from tests.people import OLGA

pytestmark = pytest.mark.anyio
CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE application_name = 'rookery listening test' AND datname = current_database()"
)


def mint_for_machine() -> TokenWithSecret:
    now = HandClock().now()
    return mint("olga", frozenset({Scope.WORKER}), now=now, chance=secrets.token_bytes)


TOKEN, OTHER_TOKEN = mint_for_machine(), mint_for_machine()
REVOKE_SILENTLY = f"UPDATE tokens SET revoked = now() WHERE id = '{TOKEN.token.id}'"


@dataclass(frozen=True, slots=True)
class Here:
    """What this process remembers."""

    credentials: WorkerCredentials
    listening: Listening

    def knows(self, secret: str = TOKEN.secret) -> bool:
        try:
            return self.credentials.find_verified("olga", secret) is not None
        except AccountBlocked:
            return False


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """Another process on the same database."""

    users: Users
    tokens: Tokens


@pytest.fixture
async def elsewhere(database: Target, queries: Queries) -> AsyncIterator[Elsewhere]:
    async with pool_on(database, "other") as pool:
        found = Elsewhere(Users(pool, queries), Tokens(pool, queries))
        await found.users.add(OLGA)
        await found.tokens.add(TOKEN.token)
        await found.tokens.add(OTHER_TOKEN.token)
        yield found


@pytest.fixture
async def here(database: Target, queries: Queries, elsewhere: Elsewhere) -> AsyncIterator[Here]:
    """Olga's machine has just called."""
    clock, changes = HandClock(), ChangeNotices()
    listening = Listening(database, changes, instance="test")
    async with pool_on(database) as pool, listening.opened():
        users = Users(pool, queries)
        bearers = Bearers(Tokens(pool, queries), users, clock)
        passwords = Passwords(Threads(), clock, b"key")
        tokens = WorkerTokens(bearers, Tokens(pool, queries), clock)
        credentials = WorkerCredentials(users, passwords, tokens, clock, b"key")
        forget_changed_accounts(changes, credentials, bearers, SilentLog())
        await eventually(lambda: listening.stats().connected)
        for secret in (TOKEN.secret, OTHER_TOKEN.secret):
            await credentials.check("olga", secret, "192.0.2.7")
        found = Here(credentials, listening)
        assert found.knows()
        yield found


async def test_a_blocked_user_is_known_as_such_at_once(here: Here, elsewhere: Elsewhere) -> None:
    await elsewhere.users.save(replace(OLGA, blocked=True))
    await eventually(lambda: not here.knows())
    with pytest.raises(AccountBlocked):
        await here.credentials.check("olga", TOKEN.secret, "192.0.2.7")


async def test_a_revoked_token_ends_at_once_and_alone(here: Here, elsewhere: Elsewhere) -> None:
    await elsewhere.tokens.revoke(TOKEN.token.id, HandClock().now())
    await eventually(lambda: not here.knows())
    with pytest.raises(WrongCredentials):
        await here.credentials.check("olga", TOKEN.secret, "192.0.2.7")
    assert here.knows(OTHER_TOKEN.secret)


async def test_a_revocation_that_was_not_heard_ends_the_token_at_the_next_connection(
    here: Here, elsewhere: Elsewhere, database: Target
) -> None:
    await statement(database, REVOKE_SILENTLY)
    assert here.knows()
    await statement(database, CUT)
    await eventually(lambda: here.listening.stats().connections == 2)
    await eventually(lambda: not here.knows())
    assert here.knows(OTHER_TOKEN.secret)


async def test_a_block_that_was_not_heard_counts_at_the_next_connection(
    here: Here, database: Target
) -> None:
    await statement(database, "UPDATE users SET blocked = true")
    assert here.knows()
    await statement(database, CUT)
    await eventually(lambda: not here.knows())


async def test_a_logout_in_another_process_ends_the_session_here(
    database: Target, queries: Queries
) -> None:
    clock, changes, session = HandClock(), ChangeNotices(), SessionData("olga", "mark", "a token")
    async with pool_on(database) as pool, pool_on(database, "other") as other:
        here = LoggedOutSessions(EndedSessions(pool, queries), clock)
        changes.subscribe(Channel.SESSIONS, here.told, here.missed)
        listening = Listening(database, changes, instance="here")
        async with listening.opened():
            await eventually(lambda: listening.stats().connected)
            assert not await here.holds(session)
            elsewhere = LoggedOutSessions(EndedSessions(other, queries), clock)
            await elsewhere.end(session, timedelta(days=7))
            await eventually(lambda: session_digest(session) in here._digests)
            assert await here.holds(session)
