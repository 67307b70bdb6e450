"""The page of errors: failures of tasks, grouped by test and message, with logs and games of the
latest ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from starlette.datastructures import QueryParams

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.events import Action
from rookery.server.engines.privacy import Privacy, name_of
from rookery.server.farm.read_values import FailureGroup, FailureQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.files.games import GameStore
from rookery.server.files.worker_logs import LogStore
from rookery.server.http.faults import SearchTooSlow
from rookery.server.http.pages.filters import read_text, read_word
from rookery.server.http.pages.listing import ListAddress, make_open_pager, read_page
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.http.turns import SearchPlaces
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

pages = Pages(HERE)
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class FailureReader(Parts):
    """Reads the failures that this visitor may see."""

    viewer: Actor | None
    reads: FleetReads
    privacy: Privacy
    logs: LogStore
    games: GameStore

    async def load_details(self, groups: Sequence[FailureGroup]) -> dict[str, object]:
        """The runs, and the logs and games of the latest failures."""
        found = await self.reads.runs({group.run for group in groups})
        viewer = name_of(self.viewer)
        seen = {run.id: run for run in found if self.privacy.may_see(viewer, run)}
        tasks = [(group.run, task) for group in groups for _, task in group.latest]
        readable = [each for each in tasks if may_read_logs(seen.get(each[0]), self.viewer)]
        return {
            "trouble": "",
            "groups": groups,
            "runs": seen,
            "logs": index_logs(await self.logs.rows.of_tasks(readable)),
            "games": await self.games.rows.find_present(tasks),
        }


@pages("GET /errors", "awaits four queries, rendered in a thread")
async def errors_page(
    reader: FailureReader, places: SearchPlaces, clock: Clock, query: QueryParams
) -> Page:
    kind, days = read_word(query, "kind", tuple(KINDS)), read_word(query, "days", tuple(SPANS))
    run, page, now = read_text(query, "run"), read_page(query), clock.now()
    address = ListAddress(HERE, {"kind": kind, "days": days, "run": run})
    wanted = FailureQuery(
        since=now - timedelta(days=SPANS[days]),
        kinds=tuple(KINDS.get(kind, ORDINARY)),
        sight=reader.privacy.sight(reader.viewer),
        run=run,
        first=(page - 1) * ROWS,
        limit=ROWS + 1,
    )
    shown: dict[str, object] = {"now": now, "address": address, "kinds": KINDS, "spans": SPANS}
    try:
        async with places.enter():
            groups = await reader.reads.failures(wanted)
    except SearchTooSlow:
        return Page("errors.html", {**shown, "trouble": TOO_LONG})
    shown |= await reader.load_details(groups[:ROWS])
    shown["pager"] = make_open_pager(address, page, more=len(groups) > ROWS)
    return Page("errors.html", shown)
