"""Trust: what a user's word about somebody else's run is worth.

Approvers, and those who gave the fleet enough of their machines' time, stop a run by themselves.
Others stop it where several of them find the same, but accounts are free to make: one that is too
young or has given next to nothing does not count.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from rookery.clock import Clock
from rookery.core.answers import Word
from rookery.service.groups import is_approver
from rookery.service.remembered import Remembered
from rookery.service.users import User

REMEMBERED_SECONDS = 600.0
MOST_REMEMBERED = 10_000


class Contributions(Protocol):
    """What users' machines have given."""

    async def core_hours(self, user: str) -> float: ...


@dataclass(frozen=True, slots=True)
class Standards:
    """What makes a word stop a run, and what makes it count together with others'."""

    stop_hours: float = 100.0
    count_hours: float = 1.0
    count_age: timedelta = timedelta(days=7)


class Trust:
    """Hours are looked up at the first complaint, which is rare, and remembered for a while."""

    def __init__(self, contributions: Contributions, clock: Clock, standards: Standards) -> None:
        self._contributions = contributions
        self._clock = clock
        self._standards = standards
        self._hours: Remembered[str, float] = Remembered(clock, MOST_REMEMBERED)

    async def __call__(self, user: User) -> Word:
        if is_approver(user):
            return Word.STOPS
        standards, hours = self._standards, await self._hours_of(user.name)
        if hours >= standards.stop_hours:
            return Word.STOPS
        grown = self._clock.now() - user.created >= standards.count_age
        return Word.COUNTS if grown and hours >= standards.count_hours else Word.NOTED

    async def _hours_of(self, name: str) -> float:
        known = self._hours.get(name)
        if known is None:
            known = await self._contributions.core_hours(name)
            self._hours.put(name, known, REMEMBERED_SECONDS)
        return known
