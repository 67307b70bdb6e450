"""The page of errors: failures of tasks, grouped by test and message, with logs and games of the
latest ones."""

from collections.abc import Sequence
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.events import Action
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.read_values import FailureGroup, FailureQuery
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.http.answers import site_of
from rookery.server.http.faults import SearchTooSlow
from rookery.server.http.pages.filters import read_text, read_word
from rookery.server.http.pages.listing import ListAddress, make_open_pager, read_page
from rookery.server.http.pages.page import render_page, viewer_of
from rookery.server.log.action_rows import index_logs, may_read_logs

HERE = "/errors"
ROWS = 50
KINDS = {
    "failed": (Action.FAILED_TASK,),
    "crashed": (Action.CRASH_OR_TIME,),
    "too fast": (Action.TOO_FAST,),
    "given up": (Action.DEAD_TASK,),
}
ORDINARY = (Action.FAILED_TASK, Action.CRASH_OR_TIME, Action.TOO_FAST)
"""The failures that the page shows by default. A machine that disappears without a message is no
error, but can be filtered for."""
SPANS = {"1": 1, "": 7, "30": 30}
"""Days by the word in the address."""
TOO_LONG = "This took too long to count. Choose a shorter period."


@runs(Domain.THREAD, "awaits four queries, rendered in a thread")
async def errors_page(request: Request) -> Response:
    site, viewer, query = site_of(request), await viewer_of(request), request.query_params
    kind, days = read_word(query, "kind", tuple(KINDS)), read_word(query, "days", tuple(SPANS))
    run, page, now = read_text(query, "run"), read_page(query), site.clock.now()
    address = ListAddress(HERE, {"kind": kind, "days": days, "run": run})
    wanted = FailureQuery(
        since=now - timedelta(days=SPANS[days]),
        kinds=tuple(KINDS.get(kind, ORDINARY)),
        sight=site.privacy.sight(viewer),
        run=run,
        first=(page - 1) * ROWS,
        limit=ROWS + 1,
    )
    shown: dict[str, object] = {"now": now, "address": address, "kinds": KINDS, "spans": SPANS}
    try:
        async with site.search_places.enter():
            groups = await site.reads.failures(wanted)
    except SearchTooSlow:
        return await render_page(request, "errors.html", {**shown, "trouble": TOO_LONG})
    shown |= await _load_details(site, viewer, groups[:ROWS])
    shown["pager"] = make_open_pager(address, page, more=len(groups) > ROWS)
    return await render_page(request, "errors.html", shown)


async def _load_details(
    site: Site, viewer: Actor | None, groups: Sequence[FailureGroup]
) -> dict[str, object]:
    """The runs, and the logs and games of the latest failures, as far as this visitor may see
    them."""
    found = await site.reads.runs({group.run for group in groups})
    seen = {run.id: run for run in found if site.privacy.may_see(name_of(viewer), run)}
    tasks = [(group.run, task) for group in groups for _, task in group.latest]
    readable = [each for each in tasks if may_read_logs(seen.get(each[0]), viewer)]
    return {
        "trouble": "",
        "groups": groups,
        "runs": seen,
        "logs": index_logs(await site.logs.rows.of_tasks(readable)),
        "games": await site.games.rows.find_present(tasks),
    }


def routes() -> list[BaseRoute]:
    return [Route(HERE, errors_page, methods=["GET"])]
