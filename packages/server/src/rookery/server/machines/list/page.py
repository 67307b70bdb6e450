"""The list of machines: computers by owner, their present activity and the quality of their
results."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.core.model.machine import Machine
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.server.app.site import Site
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.privacy import may_see_machine_details, name_of
from rookery.server.farm.rules.lifecycle import Actor
from rookery.server.farm.show.live import answer_live_list
from rookery.server.farm.show.run_description import name_test
from rookery.server.farm.show.run_row import StatusLabel
from rookery.server.farm.views import KnownMachine
from rookery.server.http.answers import site_of
from rookery.server.http.pages.filters import Choice, read_search, read_text, read_word
from rookery.server.http.pages.formatting import format_count, format_plural
from rookery.server.http.pages.listing import ListAddress, Pager, make_pager, read_page
from rookery.server.http.pages.page import plays_engine, render_page_in_thread, viewer_of
from rookery.server.machines.hosts import Host, ListedHost, Roster
from rookery.server.machines.list.rows import BLOCKED, RESIDUALS, compare_speed, label_machine

HERE = "/machines"
ROWS = 100
PAUSE_SECONDS = 10.0
"""The least time between two versions of the list that a page receives. There may be thousands of
machines."""
STATES = ("playing", "waiting", "away", "different")
BLOCKED_ONES = "blocked"
"""The filter for machines that get no tasks, connected or not."""
MOST_PLAYED_BEFORE = 200


@dataclass(frozen=True, slots=True)
class MachineFilters:
    """What a visitor filters by, as given in the address."""

    text: str = ""
    user: str = ""
    state: str = ""
    page: int = 1

    @property
    def address(self) -> ListAddress:
        return ListAddress(HERE, {"text": self.text, "user": self.user, "state": self.state})


@dataclass(frozen=True, slots=True)
class MachineListData:
    """The data for the list: frozen values only, because a thread makes the page."""

    now: datetime
    viewer: Actor | None
    filters: MachineFilters
    roster: Roster
    runs: Mapping[str, Run] = field(default_factory=dict)
    """The runs at play that this visitor may see."""
    played: Mapping[str, Run] = field(default_factory=dict)
    """The runs that waiting machines played last, as far as this visitor may see them."""
    blocks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostRow:
    """A computer as one row: its latest description, and figures computed from it."""

    machine: Machine
    title: str
    workers: int
    """The number of its active workers, if there are several."""
    earlier: int
    """How often it was started before under another name."""
    cores: int
    ratio: str
    status: StatusLabel
    run: Run | None
    """The run that it plays, if the visitor may see it; with its name and task."""
    run_name: str
    task: Task | None
    residual: StatusLabel | None
    heard: datetime


@dataclass(frozen=True, slots=True)
class OwnerGroup:
    """The computers of one user on this page of the list, and the user's totals."""

    owner: str
    mine: bool
    machines: int
    cores: int
    rows: tuple[HostRow, ...]


@dataclass(frozen=True, slots=True)
class BlockedRow:
    """A machine that gets no tasks. The reason is for its owner and approvers."""

    name: str
    user: str
    message: str


@dataclass(frozen=True, slots=True)
class MachineListView:
    filters: MachineFilters
    summary: str
    choices: tuple[Choice, ...]
    groups: tuple[OwnerGroup, ...]
    blocked: tuple[BlockedRow, ...]
    pager: Pager
    mine: str
    is_empty: bool
    as_of: str
    """The age of the figures, if another server has sent them."""
    live: str
    """The address of the live part."""
    now: datetime


@runs(Domain.THREAD, "what is in memory is copied on the loop, folded and rendered in a thread")
async def machine_list(request: Request) -> Response:
    viewer, filters = await viewer_of(request), read_machine_filters(request.query_params)
    data = await _load(site_of(request), viewer, filters)
    return await render_page_in_thread(request, "machine_list.html", make_machine_list_view, data)


@runs(Domain.THREAD, "what is in memory is copied on the loop, folded and rendered in a thread")
async def machine_list_live(request: Request) -> Response:
    """The rows of the list, for the page's script."""
    site, filters = site_of(request), read_machine_filters(request.query_params)

    return await answer_live_list(
        request,
        "machine_list_live.html",
        make_machine_list_view,
        lambda viewer: _load(site, viewer, filters),
        # The user's own machines are first in the list, and owners can read why a machine is
        # blocked.
        lambda viewer: (filters, viewer, site.privacy.hidden(name_of(viewer))),
        pause=PAUSE_SECONDS,
    )


async def _load(site: Site, viewer: Actor | None, filters: MachineFilters) -> MachineListData:
    hidden = site.privacy.hidden(name_of(viewer))
    active = await site.fleet.views.active()
    runs = {run.id: run for run in active if not plays_engine(run, hidden)}
    blocks = await site.fleet.views.blocks()
    roster = await site.roster.load()
    last = {each.last_run for each in roster.picture.known if each.last_run}
    found = await site.reads.runs(sorted(last, reverse=True)[:MOST_PLAYED_BEFORE])
    played = {run.id: run for run in found if not plays_engine(run, hidden)}
    return MachineListData(site.clock.now(), viewer, filters, roster, runs, played, blocks)


def read_machine_filters(query: Mapping[str, str]) -> MachineFilters:
    return MachineFilters(
        text=read_search(query),
        user=read_text(query, "user"),
        state=read_word(query, "state", (*STATES, BLOCKED_ONES)),
        page=read_page(query),
    )


def make_machine_list_view(data: MachineListData) -> MachineListView:
    """The view of the list. It goes through all machines, so call it in a thread."""
    filters, shown, blocked = data.filters, _find_hosts(data), _list_blocked(data)
    asked = filters.state == BLOCKED_ONES
    total = len(blocked if asked else shown.hosts)
    page = min(filters.page, max(1, -(-total // ROWS)))
    here = slice((page - 1) * ROWS, page * ROWS)
    counts = {**shown.counts, BLOCKED_ONES: len(blocked)}
    return MachineListView(
        filters=filters,
        summary=f"{format_plural(total, 'machine')} blocked." if asked else _summarise(shown),
        choices=_list_choices(counts, filters),
        groups=tuple(_make_groups(shown.hosts[here], shown.owners, data)),
        blocked=blocked[here] if asked else (),
        pager=make_pager(filters.address, page, ROWS, total),
        mine=_address_mine(data),
        is_empty=not data.roster.hosts and not data.blocks,
        as_of=_describe_moment(data.roster.picture.since, data.now),
        live=f"{HERE}/live{filters.address.change(page=page).removeprefix(HERE)}",
        now=data.now,
    )


def _describe_moment(since: datetime | None, now: datetime) -> str:
    return f"As of {(now - since).total_seconds():.0f} s ago." if since else ""


@dataclass(slots=True)
class OwnerHosts:
    """The computers of one user that match the filters."""

    hosts: list[Host] = field(default_factory=list)
    cores: int = 0


@dataclass(frozen=True, slots=True)
class FoundHosts:
    """The matching computers in the order of the page, and their number by state."""

    hosts: Sequence[Host]
    owners: Mapping[str, OwnerHosts]
    counts: Mapping[str, int]


def _find_hosts(data: MachineListData) -> FoundHosts:
    """The matching computers: the visitor's own first, then owners by the cores they contribute."""
    owners: defaultdict[str, OwnerHosts] = defaultdict(OwnerHosts)
    counts = dict.fromkeys(("", *STATES), 0)
    state, viewer = data.filters.state, name_of(data.viewer)
    for listed in _search(data):
        counts[""] += 1
        for each in listed.states:
            counts[each] += 1
        if not state or state in listed.states:
            owner = owners[listed.user]
            owner.hosts.append(listed.host)
            owner.cores += listed.cores
    order = sorted(owners, key=lambda name: (name != viewer, -owners[name].cores, name))
    return FoundHosts([host for name in order for host in owners[name].hosts], owners, counts)


def _search(data: MachineListData) -> Iterator[ListedHost]:
    viewer, owner, text = data.viewer, data.filters.user, data.filters.text.casefold()
    approver = viewer is not None and viewer.approver
    for listed in data.roster.select_visible(data.runs, name_of(viewer), approver=approver):
        if (not owner or listed.user == owner) and (not text or text in listed.words):
            yield listed


def _summarise(shown: FoundHosts) -> str:
    cores = sum(owner.cores for owner in shown.owners.values())
    people = format_plural(len(shown.owners), "user")
    machines = format_plural(len(shown.hosts), "machine")
    return f"{machines} of {people}; {format_plural(cores, 'core')} in use."


def _list_choices(counts: Mapping[str, int], filters: MachineFilters) -> tuple[Choice, ...]:
    words = {"": "all", "different": "results differ"}
    return tuple(
        Choice(
            words.get(state, state),
            filters.address.change(state=state),
            filters.state == state,
            format_count(counts[state]),
        )
        for state in ("", *STATES, BLOCKED_ONES)
        if counts[state] or state in ("", filters.state)
    )


def _make_groups(
    hosts: Iterable[Host], owners: Mapping[str, OwnerHosts], data: MachineListData
) -> Iterator[OwnerGroup]:
    viewer = name_of(data.viewer)
    for owner, part in groupby(hosts, key=lambda host: host.user):
        sums = owners[owner]
        rows = tuple(_make_row(host, data) for host in part)
        yield OwnerGroup(owner, owner == viewer, len(sums.hosts), sums.cores, rows)


def _make_row(host: Host, data: MachineListData) -> HostRow:
    latest, playing = host.latest, len(host.playing)
    machine, run = latest.machine, data.runs.get(latest.run)
    several = playing > 1
    return HostRow(
        machine=machine,
        title=machine.claimed.host or machine.short_name.removeprefix(f"{machine.user}-"),
        workers=playing if several else 0,
        earlier=0 if several else len(host.workers) - 1,
        cores=host.cores_at_play if several else machine.cores,
        ratio=compare_speed(machine.nps, run or data.played.get(latest.last_run)),
        status=_label(latest, data),
        run=run,
        run_name=name_test(run) if run else "",
        task=latest.task if run else None,
        residual=_label_residual(latest, data),
        heard=latest.heard,
    )


def _label(each: KnownMachine, data: MachineListData) -> StatusLabel:
    is_blocked = each.machine.short_name in data.blocks
    return BLOCKED if is_blocked else label_machine(each, data.now)


def _label_residual(each: KnownMachine, data: MachineListData) -> StatusLabel | None:
    task, colours = each.task, data.roster.picture.residual_colours
    return RESIDUALS.get(colours.get((task.run, task.id))) if task else None


def _list_blocked(data: MachineListData) -> tuple[BlockedRow, ...]:
    """The blocked machines by name. A machine that never returns stays blocked."""
    filters, text = data.filters, data.filters.text.casefold()
    names = [name for name in sorted(data.blocks) if text in name.casefold()]
    rows = (
        BlockedRow(
            name,
            name.partition("-")[0],
            data.blocks[name] if may_see_machine_details(data.viewer, name) else "",
        )
        for name in names
    )
    return tuple(row for row in rows if filters.user in ("", row.user))


def _address_mine(data: MachineListData) -> str:
    viewer = data.viewer
    if viewer is None or viewer.name == data.filters.user:
        return ""
    return MachineFilters(user=viewer.name).address.change()


def routes() -> list[BaseRoute]:
    return [
        Route(HERE, machine_list, methods=["GET"]),
        Route(f"{HERE}/live", machine_list_live, methods=["GET"]),
    ]
