"""Redirects from fishtest's addresses to the same pages here, with their filters, so that links in
chats and scripts keep working. Parts of its pages that scripts fetch again and again lead to the
call that has the same figures, or else to the page.

Addresses of runs are redirected by the modules that show them (pages/run.py and others).
"""

from collections.abc import Callable, Mapping
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.server.boundary.domains import Domain, runs
from rookery.server.http.pages.listing import ListAddress
from rookery.server.http.pages.page import redirect_to

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


@runs(Domain.LOOP, "makes an address of another")
async def lead_on(request: Request) -> Response:
    return redirect_to(PLACES[request.url.path](request.query_params))


@runs(Domain.LOOP, "makes an address of another")
async def lead_to_tests(request: Request) -> Response:
    return redirect_to(find_tests(request.query_params, request.path_params["user"]))


@runs(Domain.LOOP, "makes an address of another")
async def lead_to_elo(request: Request) -> Response:
    return redirect_to(f"/api/get_elo/{quote(request.path_params['run_id'], safe='')}")


@runs(Domain.LOOP, "makes an address of another")
async def lead_to_run(request: Request) -> Response:
    return redirect_to(f"/runs/{quote(request.path_params['run_id'], safe='')}")


@runs(Domain.LOOP, "makes an address of another")
async def lead_to_user(request: Request) -> Response:
    return redirect_to(f"/users/{quote(request.path_params['user'], safe='')}")


@runs(Domain.LOOP, "makes an address of another")
async def lead_to_machine(request: Request) -> Response:
    return redirect_to(f"/machines/{quote(request.path_params['worker'], safe='')}")


def routes() -> list[BaseRoute]:
    return [
        *(Route(path, lead_on, methods=["GET"]) for path in PLACES),
        Route("/tests/user/{user}", lead_to_tests, methods=["GET"]),
        Route("/tests/live_elo_update/{run_id}", lead_to_elo, methods=["GET"]),
        Route("/tests/view/{run_id}/detail", lead_to_run, methods=["GET"]),
        Route("/user/{user}", lead_to_user, methods=["GET"]),
        Route("/workers/{worker}", lead_to_machine, methods=["GET"]),
    ]
