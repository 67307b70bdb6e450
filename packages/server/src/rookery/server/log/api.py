"""The log of actions: who did what to runs, machines and accounts."""

from collections.abc import Collection, Mapping

from starlette.requests import Request
from starlette.responses import Response

from rookery.core.model.bounds import RunId
from rookery.core.protocol import v1
from rookery.core.protocol.actions import All, Among, Compare, Expression, Order
from rookery.server.boundary.domains import Domain, runs
from rookery.server.http import queries
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer
from rookery.server.http.callers import find_reader, translated_errors
from rookery.server.http.openapi import Operation, described
from rookery.server.runs.api import PAGING


@described(
    Operation(
        "The log of actions, newest first",
        {200: v1.ActionList},
        query={"action": v1.Name, "actor": v1.Name, "run": RunId, "before": str, **PAGING},
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_actions(request: Request) -> Response:
    site = site_of(request)
    query = request.query_params
    sight = site.privacy.sight(await find_reader(request, site))
    with translated_errors():
        _, size = queries.read_page(query)
        found = await site.reads.actions(_read_filter(query), limit=size, sight=sight)
    return json_answer(v1.ActionList(actions=found))


def _read_filter(query: Mapping[str, str]) -> Expression:
    names = {"action": "action", "actor": "username", "run": "run_id"}
    queries.read_run_id(query)
    parts: list[Expression] = [
        Compare(field, Order.EQUAL, queries.read_name(query, name))
        for name, field in names.items()
        if query.get(name)
    ]
    before = queries.read_before(query)
    if before is not None:
        parts.append(Compare("time", Order.BELOW, before))
    return All(tuple(parts))


def select_machine_actions(name: str, kinds: Collection[str] = ()) -> Expression:
    """The expression for all log lines of a machine, or for some kinds of them. In the log, a
    machine's name is followed by a part of its key or a star; a full stop sorts after both."""
    lines = (
        Compare("worker", Order.AT_LEAST, name),
        Compare("worker", Order.BELOW, f"{name}."),
    )
    return All((*lines, Among("action", tuple(kinds))) if kinds else lines)
