"""The list of contributors: games and hours of each, in all and in the last thirty days."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.statistics_rows import ContributorOrder, Period
from rookery.server.http.answers import site_of
from rookery.server.http.pages.filters import read_search
from rookery.server.http.pages.listing import ListAddress, make_pager, read_page
from rookery.server.http.pages.page import render_page
from rookery.server.http.scope import session_of

HERE = "/contributors"
PAGE_ROWS = 100
ORDER = {f"-{order.value}": order for order in ContributorOrder}


@runs(Domain.THREAD, "awaits two queries; the page is rendered in a thread")
async def list_contributors(request: Request) -> Response:
    site, query = site_of(request), request.query_params
    period = Period.MONTH if query.get("period") == Period.MONTH else Period.ALL
    text, page = read_search(query), read_page(query)
    order = ORDER.get(query.get("sort", ""), ContributorOrder.HOURS)
    found = await site.statistics.search(period, text, order, (page - 1) * PAGE_ROWS, PAGE_ROWS)
    chosen = period.value if period is Period.MONTH else ""
    address = ListAddress(HERE, {"period": chosen, "text": text, "sort": f"-{order.value}"})
    shown = {
        "contributors": found,
        "totals": await site.statistics.totals(period),
        "paces": site.fleet.activity.user_paces,
        "address": address,
        "pager": make_pager(address, page, PAGE_ROWS, found[0].found if found else 0),
        "viewer": session_of(request.scope).user,
        "now": site.clock.now(),
    }
    return await render_page(request, "contributors.html", shown)


def routes() -> list[BaseRoute]:
    return [Route(HERE, list_contributors, methods=["GET"])]
