"""Bearers: a valid token of somebody in good standing, and nothing else."""

from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from rookery.people.bearers import Bearers, OwnerRefused, TokenRefused
from rookery.people.users import ORDINARY, Minted, Scope, User, mint
from rookery.rules.lifecycle import Actor
from tests.fakes import HandClock
from tests.people import BORIS, OLGA, counting
from tests.twins.people import MemoryTokens, MemoryUsers

pytestmark = pytest.mark.anyio

WORKER = frozenset({Scope.WORKER})


@dataclass
class Place:
    """Olga and Boris, and a clock to move."""

    users: MemoryUsers
    tokens: MemoryTokens
    clock: HandClock
    bearers: Bearers

    async def give(self, user: str = "olga", scopes: frozenset[Scope] = ORDINARY) -> Minted:
        expires = self.clock.now() + timedelta(days=1)
        minted = mint(user, scopes, now=self.clock.now(), chance=counting(), expires=expires)
        await self.tokens.add(minted.token)
        return minted


@pytest.fixture
def place() -> Place:
    users, clock = MemoryUsers(OLGA, BORIS), HandClock()
    tokens = MemoryTokens(users)
    return Place(users, tokens, clock, Bearers(tokens, users, clock))


async def test_a_token_says_who_shows_it(place: Place) -> None:
    minted = await place.give()
    assert (await place.bearers.bearer(minted.secret)).user == OLGA


@pytest.mark.parametrize(
    "secret", ["", "rk_", "rk_wrong", "no prefix", "rk_" + "a" * 5000, "rk_\ud800"]
)
async def test_a_stranger_is_refused(place: Place, secret: str) -> None:
    with pytest.raises(TokenRefused):
        await place.bearers.bearer(secret)


async def test_a_revoked_token_stops_counting_within_seconds(place: Place) -> None:
    minted = await place.give()
    await place.bearers.bearer(minted.secret)
    await place.tokens.revoke(minted.token.id, place.clock.now())
    place.clock.move(seconds=6)
    with pytest.raises(TokenRefused):
        await place.bearers.bearer(minted.secret)


async def test_an_expired_token_is_refused_at_once(place: Place) -> None:
    minted = await place.give()
    place.clock.move(days=1, seconds=-1)
    await place.bearers.bearer(minted.secret)
    place.clock.move(seconds=1)
    with pytest.raises(TokenRefused):
        await place.bearers.bearer(minted.secret)


@pytest.mark.parametrize("owner", [replace(OLGA, blocked=True), replace(OLGA, pending=True)])
async def test_the_token_of_somebody_without_standing_is_refused(place: Place, owner: User) -> None:
    minted = await place.give()
    await place.users.save(owner)
    with pytest.raises(OwnerRefused):
        await place.bearers.bearer(minted.secret)


async def test_an_approver_needs_a_token_made_for_approving(place: Place) -> None:
    full = await place.bearers.bearer((await place.give("boris")).secret)
    assert full.actor == Actor("boris", approver=True)
    narrow = replace(full, scopes=frozenset({Scope.SUBMIT}))
    assert narrow.actor == Actor("boris", approver=False)


async def test_the_scope_makes_nobody_an_approver(place: Place) -> None:
    bearer = await place.bearers.bearer((await place.give("olga")).secret)
    assert not bearer.actor.approver


async def test_a_worker_token_names_its_owner_to_workers_alone(place: Place) -> None:
    assert await place.bearers.owner((await place.give(scopes=WORKER)).secret) == "olga"
    assert await place.bearers.owner((await place.give()).secret) is None
    assert await place.bearers.owner("rkw_unknown") is None


async def test_last_uses_are_written_in_bulk(place: Place) -> None:
    minted = await place.give()
    await place.bearers.bearer(minted.secret)
    (before,) = await place.tokens.of("olga")
    await place.bearers.flush()
    (after,) = await place.tokens.of("olga")
    assert (before.used, after.used) == (None, place.clock.now())
