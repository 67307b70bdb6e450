"""Trust: whose word alone stops a run. Approvers, and those who gave the fleet enough of their
machines' time."""

from typing import Protocol

from rookery.clock import Clock
from rookery.service.groups import is_approver
from rookery.service.remembered import Remembered
from rookery.service.users import User

REMEMBERED_SECONDS = 600.0
MOST_REMEMBERED = 10_000


class Contributions(Protocol):
    """What users' machines have given."""

    async def core_hours(self, user: str) -> float: ...


class Trust:
    """Hours are looked up at the first complaint, which is rare, and remembered for a while."""

    def __init__(self, contributions: Contributions, clock: Clock, *, hours: float) -> None:
        self._contributions = contributions
        self._hours = hours
        self._verdicts: Remembered[str, bool] = Remembered(clock, MOST_REMEMBERED)

    async def __call__(self, user: User) -> bool:
        if is_approver(user):
            return True
        known = self._verdicts.get(user.name)
        if known is None:
            known = await self._contributions.core_hours(user.name) >= self._hours
            self._verdicts.put(user.name, known, REMEMBERED_SECONDS)
        return known
