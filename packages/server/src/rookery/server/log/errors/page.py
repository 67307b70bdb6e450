"""The page of errors: failures of tasks, grouped by test and message, with logs and games of the
latest ones."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.events import Action
from rookery.core.model.run import Run
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import name_of
from rookery.server.farm.read_values import FailureGroup, FailureQuery
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.run_row import StatusLabel, label_status
from rookery.server.farm.show.run_tables import address_task
from rookery.server.files.worker_logs import StoredLog
from rookery.server.http.answers import site_of
from rookery.server.http.faults import SearchTooSlow
from rookery.server.http.pages.filters import Choice, read_text, read_word
from rookery.server.http.pages.listing import ListAddress, Pager, make_open_pager, read_page
from rookery.server.http.pages.page import render_page_in_thread, viewer_of
from rookery.server.log.action_rows import find_short_name, may_read_logs, name_action

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
WORDS = {"crashed": "crashes and time losses", "given up": "given up without a message"}
SPANS = {"": 7, "1": 1, "30": 30}
TOO_LONG = "This took too long to count. Choose a shorter period."


@dataclass(frozen=True, slots=True)
class ErrorFilters:
    """What a visitor filters by, as given in the address."""

    kind: str = ""
    days: str = ""
    run: str = ""
    page: int = 1

    @property
    def address(self) -> ListAddress:
        return ListAddress(HERE, {"kind": self.kind, "days": self.days, "run": self.run})


@dataclass(frozen=True, slots=True)
class ErrorsData:
    """The data for the page, without what this visitor may not see."""

    now: datetime
    filters: ErrorFilters
    viewer: Actor | None
    groups: tuple[FailureGroup, ...] = ()
    runs: Mapping[str, Run] | None = None
    logs: tuple[StoredLog, ...] = ()
    games: Collection[tuple[str, int]] = ()
    """Tasks whose games are still stored."""
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class ErrorTask:
    """One of the last failures of a group."""

    task: int
    link: str
    """The link to the task in the list of its run's tasks."""
    machine: str
    log: str
    games: str


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Failures with the same message, the state of their run, and the latest of them."""

    group: FailureGroup
    status: StatusLabel | None
    what: str
    tasks: tuple[ErrorTask, ...]
    more: int
    """How many further failures there were."""
    all_of_run: str
    """The link to the log of all failures of this kind in the run."""


@dataclass(frozen=True, slots=True)
class ErrorsView:
    filters: ErrorFilters
    kinds: tuple[Choice, ...]
    spans: tuple[Choice, ...]
    rows: tuple[ErrorRow, ...]
    pager: Pager
    trouble: str
    now: datetime


@runs(Domain.THREAD, "awaits four queries, rendered in a thread")
async def errors_page(request: Request) -> Response:
    data = await _load(request)
    return await render_page_in_thread(request, "errors.html", make_errors_view, data)


async def _load(request: Request) -> ErrorsData:
    site, viewer = site_of(request), await viewer_of(request)
    filters, now = _read_filters(request.query_params), site.clock.now()
    wanted = FailureQuery(
        since=now - timedelta(days=SPANS[filters.days]),
        kinds=tuple(KINDS.get(filters.kind, ORDINARY)),
        sight=site.privacy.sight(viewer),
        run=filters.run,
        first=(filters.page - 1) * ROWS,
        limit=ROWS + 1,
    )
    try:
        async with site.search_places.enter():
            groups = await site.reads.failures(wanted)
    except SearchTooSlow:
        return ErrorsData(now, filters, viewer, trouble=TOO_LONG)
    found = await site.reads.runs({group.run for group in groups})
    seen = {run.id: run for run in found if site.privacy.may_see(name_of(viewer), run)}
    tasks = [(group.run, task) for group in groups for _, task in group.latest]
    readable = [each for each in tasks if may_read_logs(seen.get(each[0]), viewer)]
    return ErrorsData(
        now,
        filters,
        viewer,
        groups,
        seen,
        await site.logs.rows.of_tasks(readable),
        await site.games.rows.find_present(tasks),
    )


def _read_filters(query: Mapping[str, str]) -> ErrorFilters:
    return ErrorFilters(
        kind=read_word(query, "kind", tuple(KINDS)),
        days=read_word(query, "days", tuple(SPANS)),
        run=read_text(query, "run"),
        page=read_page(query),
    )


def make_errors_view(data: ErrorsData) -> ErrorsView:
    filters = data.filters
    address = filters.address
    return ErrorsView(
        filters=filters,
        kinds=tuple(
            Choice(WORDS.get(kind, kind) or "all", address.change(kind=kind), filters.kind == kind)
            for kind in ("", *KINDS)
        ),
        spans=tuple(
            Choice(
                "last day" if days == 1 else f"last {days} days",
                address.change(days=value),
                filters.days == value,
            )
            for value, days in sorted(SPANS.items(), key=lambda each: each[1])
        ),
        rows=tuple(_make_rows(data)),
        pager=make_open_pager(address, filters.page, more=len(data.groups) > ROWS),
        trouble=data.trouble,
        now=data.now,
    )


def _make_rows(data: ErrorsData) -> Iterator[ErrorRow]:
    logs = {(log.run, log.task): log.id for log in data.logs}
    for group in data.groups[:ROWS]:
        run = (data.runs or {}).get(group.run)
        yield ErrorRow(
            group,
            label_status(run) if run else None,
            name_action(group.action),
            tuple(_make_tasks(group, logs, data.games)),
            group.count - len(group.latest),
            ListAddress("/log").change(action=group.action, run=group.run),
        )


def _make_tasks(
    group: FailureGroup, logs: Mapping[tuple[str, int], int], games: Collection[tuple[str, int]]
) -> Iterator[ErrorTask]:
    for worker, task in group.latest:
        key = (group.run, task)
        yield ErrorTask(
            task=task,
            link=address_task(group.run, task),
            machine=find_short_name(worker),
            log=f"/api/v1/logs/{logs[key]}" if key in logs else "",
            games=f"/api/pgn/{group.run}-{task}.pgn" if key in games else "",
        )


def routes() -> list[BaseRoute]:
    return [Route(HERE, errors_page, methods=["GET"])]
