"""Counts what waits for an approver, for the numbers at the top of every page they open."""

from dataclasses import dataclass

from rookery.core.clock import Clock
from rookery.core.model.run import DisplayState
from rookery.server.caches import ExpiringCache
from rookery.server.db.fence import is_outage
from rookery.server.engines.privacy import Privacy
from rookery.server.farm.commits import StateLost
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.views import FleetViews
from rookery.server.identity.users import Users

REMEMBERED_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class WaitingCount:
    """How many runs and accounts wait for approval."""

    runs: int = 0
    accounts: int = 0


NONE_WAITING = WaitingCount()


class PendingApprovals:
    """Counts what waits for each approver. Accounts are counted at most every few seconds."""

    def __init__(self, views: FleetViews, privacy: Privacy, users: Users, clock: Clock) -> None:
        self._views = views
        self._privacy = privacy
        self._users = users
        self._accounts: ExpiringCache[str, int] = ExpiringCache(clock, most=1)

    async def count_for(self, approver: str) -> WaitingCount:
        """What waits for this approver; zeros if the database is unavailable, so that the page is
        shown all the same."""
        try:
            return WaitingCount(await self._count_runs(approver), await self._count_accounts())
        except (Rebuilding, StateLost):
            return NONE_WAITING
        except Exception as error:
            if is_outage(error):
                return NONE_WAITING
            raise

    def forget(self) -> None:
        """Drop the remembered number of accounts. To be called when an account has changed."""
        self._accounts.forget_all()

    async def _count_runs(self, approver: str) -> int:
        """The number of runs that this approver may approve: visible to them and not their own."""
        hidden = self._privacy.hidden(approver)
        return sum(
            run.display is DisplayState.PENDING
            and run.plan.owner != approver
            and not any(side.engine in hidden for side in run.plan.sides)
            for run in await self._views.active()
        )

    async def _count_accounts(self) -> int:
        known = self._accounts.get("")
        if known is None:
            known = await self._users.count_pending()
            self._accounts.put("", known, REMEMBERED_SECONDS)
        return known
