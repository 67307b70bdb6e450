"""What a user's word about somebody else's run is worth."""

from dataclasses import replace

import pytest

from rookery.people.bearers import TrustedUsers, TrustRequirements
from rookery.people.users import APPROVERS, User
from rookery.rules.answers import Word
from tests.fakes import HandClock
from tests.unit.people.test_credentials import ada

pytestmark = pytest.mark.anyio


class Given:
    """So many hours, and how often somebody asked."""

    def __init__(self, hours: float) -> None:
        self.hours = hours
        self.asked = 0

    async def core_hours(self, user: str) -> float:
        del user
        self.asked += 1
        return self.hours


def trust(given: Given, clock: HandClock | None = None) -> TrustedUsers:
    return TrustedUsers(
        given, clock or grown_clock(), TrustRequirements(stop_hours=100, count_hours=1)
    )


def grown_clock() -> HandClock:
    """A week after the account was made."""
    clock = HandClock()
    clock.move(days=7)
    return clock


async def test_an_approver_is_trusted_without_a_question() -> None:
    given = Given(0)
    assert await trust(given)(replace(ada(), groups=frozenset({APPROVERS}))) is Word.STOPS
    assert given.asked == 0


async def test_enough_hours_make_a_user_trusted() -> None:
    assert await trust(Given(100))(user()) is Word.STOPS
    assert await trust(Given(99.9))(user()) is Word.COUNTS


async def test_the_word_of_a_young_account_is_noted_and_no_more() -> None:
    assert await trust(Given(99.9), HandClock())(user()) is Word.NOTED


async def test_the_word_of_an_account_that_gave_nothing_is_noted_and_no_more() -> None:
    assert await trust(Given(0))(user()) is Word.NOTED


async def test_hours_are_not_looked_up_at_every_complaint() -> None:
    given, clock = Given(0), grown_clock()
    ask = trust(given, clock)
    for _ in range(3):
        assert await ask(user()) is Word.NOTED
    assert given.asked == 1
    clock.move(minutes=11)
    await ask(user())
    assert given.asked == 2


def user() -> User:
    return replace(ada(), created=HandClock().now())
