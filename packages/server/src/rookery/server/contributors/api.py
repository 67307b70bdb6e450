"""Who contributed how many games."""

from msgspec import UNSET

from rookery.core.protocol import v1
from rookery.core.protocol.codec import to_finite
from rookery.server.farm.statistics_rows import Contributor, Period, Statistics
from rookery.server.farm.views import FleetActivity
from rookery.server.http.endpoint import LOOP, Endpoints
from rookery.server.http.query_values import Paging
from rookery.server.identity.bearers import Caller

api = Endpoints("/api/v1")


@api("GET /contributors", LOOP, "awaits one query")
async def list_contributors(
    statistics: Statistics,
    activity: FleetActivity,
    _caller: Caller | None,
    paging: Paging,
    period: Period = Period.ALL,
) -> v1.ContributorList:
    """Contributors to finished runs, in all or in the last thirty days."""
    rows = await statistics.page(period, paging.first, paging.size + 1)
    found, more = paging.cut(rows)
    paces = activity.user_paces
    shown = (make_contributor_entry(each, paces.get(each.user_name, 0.0)) for each in found)
    return v1.ContributorList(contributors=tuple(shown), page=paging.page, more=more)


def make_contributor_entry(who: Contributor, games_per_minute: float) -> v1.ContributorEntry:
    return v1.ContributorEntry(
        user=who.user_name,
        games=who.games,
        core_hours=to_finite(who.core_hours),
        tests=who.tests,
        games_per_hour=to_finite(60 * games_per_minute),
        last=who.last or UNSET,
    )
