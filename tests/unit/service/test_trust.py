"""Whose word alone stops a run."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from rookery.core.rates import core_hours
from rookery.service.groups import APPROVERS
from rookery.service.trust import Trust
from rookery.storage.fleet.memory import MemoryReads, MemoryRows
from tests.unit.core.makers import make_run
from tests.unit.service.test_credentials import ada
from tests.unit.web.fakes import HandClock

pytestmark = pytest.mark.anyio

RUN = make_run()


class Played:
    """So many games of one run, and how often somebody asked."""

    def __init__(self, games: int) -> None:
        self.count = games
        self.asked = 0

    async def games(self, user: str) -> Mapping[str, int]:
        self.asked += 1
        return {RUN.id: self.count, "f" * 24: 10**9}


def trust(played: Played, clock: HandClock | None = None) -> Trust:
    reads = MemoryReads(MemoryRows(runs={RUN.id: RUN}))
    return Trust(played, reads, clock or HandClock(), hours=100)


async def test_an_approver_is_trusted_without_a_question() -> None:
    played = Played(0)
    assert await trust(played)(replace(ada(), groups=frozenset({APPROVERS})))
    assert played.asked == 0


async def test_enough_hours_make_a_user_trusted() -> None:
    enough = int(100 / core_hours(RUN, 1)) + 1
    assert await trust(Played(enough))(ada())
    assert not await trust(Played(enough - 2))(ada())


async def test_hours_are_not_added_up_at_every_complaint() -> None:
    played, clock = Played(0), HandClock()
    ask = trust(played, clock)
    for _ in range(3):
        assert not await ask(ada())
    assert played.asked == 1
    clock.move(minutes=11)
    await ask(ada())
    assert played.asked == 2
