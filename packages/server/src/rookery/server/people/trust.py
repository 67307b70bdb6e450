"""Whether a worker may stop a run of another user (stop_run of the worker protocol).

Workers of approvers, and of users who have contributed enough core hours, stop a run at once.
Complaints of other users stop it together. Since anybody can sign up, complaints of accounts that
are too new or have contributed next to nothing do not count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

from rookery.core.clock import Clock
from rookery.server.caches import ExpiringCache
from rookery.server.farm.rules.answers import ComplaintWeight
from rookery.server.identity.users import User, Users, is_approver
from rookery.server.settings import Settings

TRUST_SECONDS = 600.0
MOST_TRUSTED = 10_000
NAMES_AT_A_TIME = 500


class Contributions(Protocol):
    """The core hours that users have contributed."""

    async def hours_of(self, users: Sequence[str]) -> Mapping[str, float]:
        """The hours by user; a user who has contributed nothing may be missing."""
        ...


@dataclass(frozen=True, slots=True)
class TrustRequirements:
    """The core hours from which a user's worker stops a run, and the core hours and the age of the
    account from which a complaint counts together with others."""

    stop_hours: float = 100.0
    count_hours: float = 1.0
    count_age: timedelta = timedelta(days=7)

    @classmethod
    def of_settings(cls, settings: Settings) -> "TrustRequirements":
        """The requirements that this site's settings define."""
        return cls(
            stop_hours=float(settings.stop_run_cpu_hours),
            count_hours=float(settings.complaint_cpu_hours),
            count_age=timedelta(days=settings.complaint_days),
        )


class TrustedUsers:
    """Decides whether a complaint of a user's worker stops a run, counts, or is only noted. A user
    whose complaints count has standing. Core hours are cached for ten minutes."""

    def __init__(
        self,
        users: Users,
        contributions: Contributions,
        clock: Clock,
        required: TrustRequirements,
    ) -> None:
        self._users = users
        self._contributions = contributions
        self._clock = clock
        self._required = required
        self._hours: ExpiringCache[str, float] = ExpiringCache(clock, MOST_TRUSTED)

    async def __call__(self, user: User) -> ComplaintWeight:
        if is_approver(user):
            return ComplaintWeight.STOPS
        return self._weigh(user, await self._load_hours(user.name))

    def _weigh(self, user: User, hours: float) -> ComplaintWeight:
        required = self._required
        if hours >= required.stop_hours:
            return ComplaintWeight.STOPS
        is_old = self._clock.now() - user.created >= required.count_age
        return (
            ComplaintWeight.COUNTS
            if is_old and hours >= required.count_hours
            else ComplaintWeight.NOTED
        )

    async def find_standing(self, names: Sequence[str]) -> set[str]:
        """Those of some users whose complaints count; on their games a verdict may rest, too."""
        found: set[str] = set()
        for start in range(0, len(names), NAMES_AT_A_TIME):
            users = await self._users.by_names(names[start : start + NAMES_AT_A_TIME])
            hours = await self._contributions.hours_of([user.name for user in users])
            found |= {user.name for user in users if self._has_standing(user, hours)}
        return found

    def _has_standing(self, user: User, hours: Mapping[str, float]) -> bool:
        weight = self._weigh(user, hours.get(user.name, 0.0))
        return is_approver(user) or weight is not ComplaintWeight.NOTED

    async def _load_hours(self, name: str) -> float:
        known = self._hours.get(name)
        if known is None:
            known = (await self._contributions.hours_of((name,))).get(name, 0.0)
            self._hours.put(name, known, TRUST_SECONDS)
        return known
