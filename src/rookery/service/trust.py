"""Trust: whose word alone stops a run. Approvers, and those who gave the fleet enough of their
machines' time (contract 3.7)."""

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

from rookery.clock import Clock
from rookery.core.rates import core_hours
from rookery.service.fleet.ports import FleetReads
from rookery.service.groups import is_approver
from rookery.service.joined import Joined
from rookery.service.remembered import Remembered
from rookery.service.users import User

REMEMBERED_SECONDS = 600.0
MOST_REMEMBERED = 10_000


class Contributions(Protocol):
    """What users' machines have played."""

    async def games(self, user: str) -> Mapping[str, int]:
        """Games by run, the runs with most of them first; not all where there are very many."""
        ...


class NoContributions:
    """A place where nobody has played yet."""

    async def games(self, user: str) -> Mapping[str, int]:
        del user
        return {}


class Trust:
    """Hours are added up at the first complaint, which is rare, and remembered for a while."""

    def __init__(
        self, contributions: Contributions, reads: FleetReads, clock: Clock, *, hours: float
    ) -> None:
        self._contributions = contributions
        self._reads = reads
        self._hours = hours
        self._verdicts: Remembered[str, bool] = Remembered(clock, MOST_REMEMBERED)
        self._running: Joined[str, bool] = Joined()

    async def __call__(self, user: User) -> bool:
        if is_approver(user):
            return True
        known = self._verdicts.get(user.name)
        if known is None:
            known = await self._running(user.name, self._adding_up(user.name))
            self._verdicts.put(user.name, known, REMEMBERED_SECONDS)
        return known

    def _adding_up(self, name: str) -> Callable[[], Coroutine[Any, Any, bool]]:
        return lambda: self._has_given_enough(name)

    async def _has_given_enough(self, name: str) -> bool:
        given = 0.0
        for run_id, games in (await self._contributions.games(name)).items():
            run = await self._reads.run(run_id)
            given += core_hours(run, games) if run else 0.0
            if given >= self._hours:
                return True
        return given >= self._hours
