"""Bearers of tokens, and what a user's word about somebody else's run is worth."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from rookery.core.model.actor import Actor
from rookery.server.farm.rules.answers import ComplaintWeight
from rookery.server.identity.bearers import Bearers, OwnerRefused, TokenRefused
from rookery.server.identity.users import APPROVERS, ORDINARY, Scope, TokenWithSecret, User, mint
from rookery.server.people.trust import TrustedUsers, TrustRequirements
from rookery.server.settings import Settings
from tests.fakes import HandClock
from tests.people import BORIS, OLGA, counting, make_ada
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

    async def give(
        self, user: str = "olga", scopes: frozenset[Scope] = ORDINARY
    ) -> TokenWithSecret:
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
    assert (await place.bearers.find_bearer(minted.secret)).user == OLGA


@pytest.mark.parametrize(
    "secret", ["", "rk_", "rk_wrong", "no prefix", "rk_" + "a" * 5000, "rk_\ud800"]
)
async def test_a_stranger_is_refused(place: Place, secret: str) -> None:
    with pytest.raises(TokenRefused):
        await place.bearers.find_bearer(secret)


async def test_a_revoked_token_stops_counting_within_seconds(place: Place) -> None:
    minted = await place.give()
    await place.bearers.find_bearer(minted.secret)
    await place.tokens.revoke(minted.token.id, place.clock.now())
    place.clock.move(seconds=6)
    with pytest.raises(TokenRefused):
        await place.bearers.find_bearer(minted.secret)


async def test_an_expired_token_is_refused_at_once(place: Place) -> None:
    minted = await place.give()
    place.clock.move(days=1, seconds=-1)
    await place.bearers.find_bearer(minted.secret)
    place.clock.move(seconds=1)
    with pytest.raises(TokenRefused):
        await place.bearers.find_bearer(minted.secret)


@pytest.mark.parametrize("owner", [replace(OLGA, blocked=True), replace(OLGA, pending=True)])
async def test_the_token_of_somebody_without_standing_is_refused(place: Place, owner: User) -> None:
    minted = await place.give()
    await place.users.save(owner)
    with pytest.raises(OwnerRefused):
        await place.bearers.find_bearer(minted.secret)


async def test_an_approver_needs_a_token_made_for_approving(place: Place) -> None:
    full = await place.bearers.find_bearer((await place.give("boris")).secret)
    assert full.actor == Actor("boris", approver=True)
    narrow = replace(full, scopes=frozenset({Scope.SUBMIT}))
    assert narrow.actor == Actor("boris", approver=False)


async def test_the_scope_makes_nobody_an_approver(place: Place) -> None:
    bearer = await place.bearers.find_bearer((await place.give("olga")).secret)
    assert not bearer.actor.approver


async def test_a_worker_token_is_found_for_workers_alone(place: Place) -> None:
    minted = await place.give(scopes=WORKER)
    assert await place.bearers.find_worker_token(minted.secret) == minted.token
    assert await place.bearers.find_worker_token((await place.give()).secret) is None
    assert await place.bearers.find_worker_token("rkw_unknown") is None


async def test_last_uses_are_written_in_bulk(place: Place) -> None:
    minted = await place.give()
    await place.bearers.find_bearer(minted.secret)
    (before,) = await place.tokens.of("olga")
    await place.bearers.flush()
    (after,) = await place.tokens.of("olga")
    assert (before.used, after.used) == (None, place.clock.now())


class Given:
    """So many hours, and how often somebody asked."""

    def __init__(self, hours: float) -> None:
        self.hours = hours
        self.asked = 0

    async def hours_of(self, users: Sequence[str]) -> Mapping[str, float]:
        self.asked += 1
        return dict.fromkeys(users, self.hours)


def trust(given: Given, clock: HandClock | None = None, *users: User) -> TrustedUsers:
    required = TrustRequirements(stop_hours=100, count_hours=1)
    return TrustedUsers(MemoryUsers(*users), given, clock or grown_clock(), required)


def grown_clock() -> HandClock:
    """A week after the account was made."""
    clock = HandClock()
    clock.move(days=7)
    return clock


async def test_an_approver_is_trusted_without_a_question() -> None:
    given = Given(0)
    assert (
        await trust(given)(replace(make_ada(), groups=frozenset({APPROVERS})))
        is ComplaintWeight.STOPS
    )
    assert given.asked == 0


async def test_enough_hours_make_a_user_trusted() -> None:
    assert await trust(Given(100))(user()) is ComplaintWeight.STOPS
    assert await trust(Given(99.9))(user()) is ComplaintWeight.COUNTS


@pytest.mark.parametrize(
    ("settings", "hours", "weight"),
    [
        (Settings(stop_run_cpu_hours=5), 5, ComplaintWeight.STOPS),
        (Settings(stop_run_cpu_hours=500), 499, ComplaintWeight.COUNTS),
        (Settings(complaint_cpu_hours=0), 0, ComplaintWeight.COUNTS),
        (Settings(complaint_cpu_hours=3), 2.9, ComplaintWeight.NOTED),
        (Settings(complaint_days=6), 1, ComplaintWeight.COUNTS),
        (Settings(complaint_days=8), 1, ComplaintWeight.NOTED),
    ],
)
async def test_settings_say_from_when_on_a_users_word_counts_or_stops_a_run(
    settings: Settings, hours: float, weight: ComplaintWeight
) -> None:
    required = TrustRequirements.of_settings(settings)
    weigh = TrustedUsers(MemoryUsers(), Given(hours), grown_clock(), required)
    assert await weigh(user()) is weight


async def test_the_word_of_a_young_account_is_noted_and_no_more() -> None:
    assert await trust(Given(99.9), HandClock())(user()) is ComplaintWeight.NOTED


async def test_the_word_of_an_account_that_gave_nothing_is_noted_and_no_more() -> None:
    assert await trust(Given(0))(user()) is ComplaintWeight.NOTED


@pytest.mark.parametrize(
    ("hours", "clock", "found"),
    [
        (1, grown_clock(), {"ada", "olga"}),
        (0.9, grown_clock(), {"olga"}),
        (99, HandClock(), {"olga"}),
    ],
)
async def test_whose_complaint_counts_has_standing_and_so_has_an_approver(
    hours: float, clock: HandClock, found: set[str]
) -> None:
    olga = replace(make_ada(), name="olga", groups=frozenset({APPROVERS}))
    ask = trust(Given(hours), clock, make_ada(), olga)
    assert await ask.find_standing(("ada", "olga", "nobody")) == found


async def test_hours_are_not_looked_up_at_every_complaint() -> None:
    given, clock = Given(0), grown_clock()
    ask = trust(given, clock)
    for _ in range(3):
        assert await ask(user()) is ComplaintWeight.NOTED
    assert given.asked == 1
    clock.move(minutes=11)
    await ask(user())
    assert given.asked == 2


def user() -> User:
    return replace(make_ada(), created=HandClock().now())
