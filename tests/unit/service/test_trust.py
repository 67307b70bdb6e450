"""Whose word alone stops a run."""

from dataclasses import replace

import pytest

from rookery.service.groups import APPROVERS
from rookery.service.trust import Trust
from tests.unit.service.test_credentials import ada
from tests.unit.web.fakes import HandClock

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


def trust(given: Given, clock: HandClock | None = None) -> Trust:
    return Trust(given, clock or HandClock(), hours=100)


async def test_an_approver_is_trusted_without_a_question() -> None:
    given = Given(0)
    assert await trust(given)(replace(ada(), groups=frozenset({APPROVERS})))
    assert given.asked == 0


async def test_enough_hours_make_a_user_trusted() -> None:
    assert await trust(Given(100))(ada())
    assert not await trust(Given(99.9))(ada())


async def test_hours_are_not_looked_up_at_every_complaint() -> None:
    given, clock = Given(0), HandClock()
    ask = trust(given, clock)
    for _ in range(3):
        assert not await ask(ada())
    assert given.asked == 1
    clock.move(minutes=11)
    await ask(ada())
    assert given.asked == 2
