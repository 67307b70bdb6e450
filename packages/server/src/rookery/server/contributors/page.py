"""The list of contributors: games and hours of each, in all and in the last thirty days."""

from starlette.datastructures import QueryParams

from rookery.core.clock import Clock
from rookery.server.farm.statistics_rows import ContributorOrder, Period, Statistics
from rookery.server.farm.views import FleetActivity
from rookery.server.http.pages.filters import read_search
from rookery.server.http.pages.listing import ListAddress, make_pager, read_page
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.session import Session

HERE = "/contributors"
PAGE_ROWS = 100
ORDER = {f"-{order.value}": order for order in ContributorOrder}

pages = Pages(HERE)
routes = pages.make_routes


@pages("GET /contributors", "awaits two queries; the page is rendered in a thread")
async def list_contributors(
    statistics: Statistics,
    activity: FleetActivity,
    session: Session,
    clock: Clock,
    query: QueryParams,
) -> Page:
    period = Period.MONTH if query.get("period") == Period.MONTH else Period.ALL
    text, page = read_search(query), read_page(query)
    order = ORDER.get(query.get("sort", ""), ContributorOrder.HOURS)
    found = await statistics.search(period, text, order, (page - 1) * PAGE_ROWS, PAGE_ROWS)
    chosen = period.value if period is Period.MONTH else ""
    address = ListAddress(HERE, {"period": chosen, "text": text, "sort": f"-{order.value}"})
    shown = {
        "contributors": found,
        "totals": await statistics.totals(period),
        "paces": activity.user_paces,
        "address": address,
        "pager": make_pager(address, page, PAGE_ROWS, found[0].found if found else 0),
        "viewer": session.user,
        "now": clock.now(),
    }
    return Page("contributors.html", shown)
