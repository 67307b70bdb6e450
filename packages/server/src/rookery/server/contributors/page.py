"""The list of contributors: games and hours of each, in all and in the last thirty days."""

from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.statistics_rows import (
    ContributionTotals,
    ContributorOrder,
    Period,
    RankedContributor,
)
from rookery.server.http.answers import site_of
from rookery.server.http.pages.filters import read_search
from rookery.server.http.pages.listing import ListAddress, Pager, make_pager, read_page
from rookery.server.http.pages.page import render_page_in_thread
from rookery.server.http.scope import session_of

HERE = "/contributors"
PAGE_ROWS = 100
ORDER = {f"-{order.value}": order for order in ContributorOrder}


@dataclass(frozen=True, slots=True)
class ContributorRow:
    """A row of the list: a contributor with computed figures."""

    who: RankedContributor
    share: str
    """The contributor's share of all hours, drawn as a bar from 0 to 100."""
    pace: float
    is_own: bool


@dataclass(frozen=True, slots=True)
class ContributorsView:
    """A page of the list, with the totals of all contributors."""

    rows: tuple[ContributorRow, ...]
    totals: ContributionTotals
    address: ListAddress
    pager: Pager
    period: Period
    now: datetime


@dataclass(frozen=True, slots=True)
class ContributorsData:
    """The data loaded for one page of the list."""

    found: tuple[RankedContributor, ...]
    totals: ContributionTotals
    paces: dict[str, float]
    address: ListAddress
    page: int
    viewer: str
    now: datetime


@runs(Domain.THREAD, "awaits two queries; the page is rendered in a thread")
async def list_contributors(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    period = Period.MONTH if query.get("period") == Period.MONTH else Period.ALL
    text = read_search(query)
    sort = query.get("sort", "")
    order = ORDER.get(sort, ContributorOrder.HOURS)
    page = read_page(query)
    found = await site.statistics.search(period, text, order, (page - 1) * PAGE_ROWS, PAGE_ROWS)
    values = {
        "period": period.value if period is Period.MONTH else "",
        "text": text,
        "sort": f"-{order.value}",
    }
    paces = site.fleet.activity.user_paces
    data = ContributorsData(
        found,
        await site.statistics.totals(period),
        {each.user_name: paces.get(each.user_name, 0.0) for each in found},
        ListAddress(HERE, values),
        page,
        session_of(request.scope).user,
        site.clock.now(),
    )
    return await render_page_in_thread(request, "contributors.html", make_contributors_view, data)


def make_contributors_view(data: ContributorsData) -> ContributorsView:
    number = data.found[0].found if data.found else 0
    return ContributorsView(
        rows=tuple(_make_row(each, data) for each in data.found),
        totals=data.totals,
        address=data.address,
        pager=make_pager(data.address, data.page, PAGE_ROWS, number),
        period=Period(data.address.values["period"] or Period.ALL),
        now=data.now,
    )


def _make_row(who: RankedContributor, data: ContributorsData) -> ContributorRow:
    name, hours = who.user_name, data.totals.core_hours
    share = f"{100 * who.core_hours / hours:.1f}" if hours > 0 else "0"
    return ContributorRow(who, share, data.paces[name], is_own=name == data.viewer)


def routes() -> list[BaseRoute]:
    return [Route(HERE, list_contributors, methods=["GET"])]
