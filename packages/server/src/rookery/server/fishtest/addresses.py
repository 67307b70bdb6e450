"""Redirects from fishtest's addresses to the same pages here, with their filters, so that links in
chats and scripts keep working. Parts of its pages that scripts fetch again and again lead to the
call that has the same figures, or else to the page.

Addresses of runs are redirected by the modules that show them (pages/run.py and others).
"""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.server.boundary.domains import Domain
from rookery.server.http.pages.listing import ListAddress
from rookery.server.http.pages.page import redirect_to
from rookery.server.http.pages.pages import Pages

Query = Mapping[str, str]
LONGEST_VALUE = 200


def find_tests(query: Query, user: str = "") -> str:
    """The address of the list of finished tests. Any of fishtest's three filters may be set."""
    result = "passed" if _is_on(query, "success_only") else ""
    if not result and _is_on(query, "yellow_only"):
        result = "positive"
    long = "1" if _is_on(query, "ltc_only") else ""
    return _address("/tests", user=user, result=result, long=long, page=query.get("page"))


def find_log(query: Query) -> str:
    given = {"action": query.get("action"), "user": query.get("user"), "text": query.get("text")}
    return _address("/log", **given, run=query.get("run_id"))


def find_nets(query: Query) -> str:
    return _address("/nets", text=query.get("network_name"), user=query.get("user"))


def find_contributors(_query: Query) -> str:
    return "/contributors?period=month"


def find_machines(query: Query) -> str:
    return _address("/machines", user=query.get("username"))


def find_waiting_accounts(_query: Query) -> str:
    return "/users?state=pending"


def find_profile(_query: Query) -> str:
    return "/profile"


def find_limits(_query: Query) -> str:
    return "/server#limits"


def find_quota(_query: Query) -> str:
    return "/api/rate_limit"


def _is_on(query: Query, name: str) -> bool:
    return query.get(name, "") not in ("", "0", "false", "False")


def _address(path: str, **values: str | None) -> str:
    given = {name: (value or "")[:LONGEST_VALUE] for name, value in values.items()}
    return ListAddress(path).change(**given)


PLACES: Mapping[str, Callable[[Query], str]] = {
    "/tests/finished": find_tests,
    "/tests/machines": find_machines,
    "/actions": find_log,
    "/contributors/monthly": find_contributors,
    "/nns": find_nets,
    "/user": find_profile,
    "/user_management": find_waiting_accounts,
    "/user_management/pending_count": find_waiting_accounts,
    "/rate_limits": find_limits,
    "/rate_limits/server": find_quota,
}
"""The address here for each of fishtest's addresses."""


pages = Pages()
routes = pages.make_routes
WHY = "makes an address of another"


async def lead_on(request: Request) -> Response:
    """Redirect from an address without names in it."""
    return redirect_to(PLACES[request.url.path](request.query_params))


for path in PLACES:
    pages(f"GET {path}", WHY, where=Domain.LOOP)(lead_on)


@pages("GET /tests/user/{user}", WHY, where=Domain.LOOP)
async def lead_to_tests(user: str, query: QueryParams) -> Response:
    """Redirect to a user's tests."""
    return redirect_to(find_tests(query, user))


@pages("GET /tests/live_elo_update/{run_id}", WHY, where=Domain.LOOP)
async def lead_to_elo(run_id: str) -> Response:
    """Redirect to the estimate of a run's Elo."""
    return redirect_to(f"/api/get_elo/{quote(run_id, safe='')}")


@pages("GET /tests/view/{run_id}/detail", WHY, where=Domain.LOOP)
async def lead_to_run(run_id: str) -> Response:
    """Redirect to a run."""
    return redirect_to(f"/runs/{quote(run_id, safe='')}")


@pages("GET /user/{user}", WHY, where=Domain.LOOP)
async def lead_to_user(user: str) -> Response:
    """Redirect to the page of a user."""
    return redirect_to(f"/users/{quote(user, safe='')}")


@pages("GET /workers/{worker}", WHY, where=Domain.LOOP)
async def lead_to_machine(worker: str) -> Response:
    """Redirect to a machine."""
    return redirect_to(f"/machines/{quote(worker, safe='')}")
