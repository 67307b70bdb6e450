"""Tokens of workers that are remembered: which, and until when."""

import secrets
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from rookery.server.identity.bearers import Bearers
from rookery.server.identity.users import Scope, TokenWithSecret, User, mint
from rookery.server.identity.worker_tokens import WorkerTokens
from tests.fakes import HandClock
from tests.people import OLGA
from tests.twins.people import MemoryTokens, MemoryUsers

pytestmark = pytest.mark.anyio

WORKER = frozenset({Scope.WORKER})


@dataclass
class Place:
    """Olga's tokens, and a clock to move."""

    users: MemoryUsers
    rows: MemoryTokens
    clock: HandClock
    tokens: WorkerTokens

    async def mint(self, *, seconds: float | None = None) -> TokenWithSecret:
        """A checked token that expires after a while, or never."""
        now = self.clock.now()
        expires = None if seconds is None else now + timedelta(seconds=seconds)
        minted = mint("olga", WORKER, now=now, chance=secrets.token_bytes, expires=expires)
        await self.rows.add(minted.token)
        assert await self.tokens.check(minted.secret, OLGA)
        return minted

    def holds(self, minted: TokenWithSecret, user: User = OLGA) -> bool:
        return self.tokens.holds(minted.secret, user)


@pytest.fixture
def place() -> Place:
    users, clock = MemoryUsers(OLGA), HandClock()
    rows = MemoryTokens(users)
    return Place(users, rows, clock, WorkerTokens(Bearers(rows, users, clock), rows, clock))


async def test_a_token_without_an_end_is_remembered_for_ever(place: Place) -> None:
    minted = await place.mint()
    place.clock.move(days=400)
    assert place.holds(minted)


async def test_a_token_is_forgotten_at_its_end(place: Place) -> None:
    minted = await place.mint(seconds=60)
    place.clock.move(seconds=59)
    assert place.holds(minted)
    place.clock.move(seconds=1)
    assert not place.holds(minted)
    assert not await place.tokens.check(minted.secret, OLGA)


async def test_a_revoked_token_is_forgotten_alone(place: Place) -> None:
    one, other = await place.mint(), await place.mint()
    place.tokens.forget(one.token.id)
    assert (place.holds(one), place.holds(other)) == (False, True)


async def test_a_token_that_is_revoked_during_its_lookup_is_not_remembered(place: Place) -> None:
    minted = await place.mint()
    place.tokens.forget(minted.token.id)

    class Revoking(Bearers):
        async def find_worker_token(self, secret: str) -> object:  # type: ignore[override]
            found = await super().find_worker_token(secret)
            place.tokens.forget(minted.token.id)
            return found

    place.tokens._finder = Revoking(place.rows, place.users, place.clock)  # type: ignore[assignment]
    await place.tokens.check(minted.secret, OLGA)
    assert not place.holds(minted)


async def test_another_account_of_the_same_name_does_not_inherit_a_token(place: Place) -> None:
    minted = await place.mint()
    newcomer = replace(OLGA, created=OLGA.created + timedelta(days=1))
    assert not place.holds(minted, newcomer)


async def test_a_recheck_keeps_the_valid_tokens_of_these_owners(place: Place) -> None:
    valid, revoked = await place.mint(), await place.mint()
    await place.rows.revoke(revoked.token.id, place.clock.now())
    await place.tokens.recheck({"olga"})
    assert (place.holds(valid), place.holds(revoked)) == (True, False)
    await place.tokens.recheck({"boris"})
    assert not place.holds(valid)


async def test_uses_from_memory_are_stored(place: Place) -> None:
    minted = await place.mint()
    place.clock.move(hours=5)
    assert place.holds(minted)
    await place.tokens.note_uses()
    (token,) = await place.rows.of("olga")
    assert token.used == place.clock.now()
