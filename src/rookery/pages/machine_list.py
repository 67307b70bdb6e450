"""The list of machines: computers by owner, what each does now and how its results look."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import groupby

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from rookery.boundary.domains import Domain, runs
from rookery.farm.hosts import Host, ListedHost, Roster
from rookery.farm.privacy import name_of
from rookery.farm.views import KnownMachine
from rookery.model.run import Run
from rookery.pages.filters import Choice, read_text, read_word
from rookery.pages.formatting import (
    DASH,
    Moment,
    format_ago,
    format_count,
    format_nps,
    format_plural,
)
from rookery.pages.listing import ListAddress, Pager, make_pager, read_page
from rookery.pages.live import answer_live
from rookery.pages.machine_rows import (
    BLOCKED,
    RESIDUALS,
    compare_speed,
    label_machine,
)
from rookery.pages.page import render_page_in_thread, render_part, viewer_of
from rookery.pages.run_row import StatusLabel
from rookery.rules.lifecycle import Actor
from rookery.web.answers import site_of
from rookery.web.callers import is_concerned, translated_errors
from rookery.web.fragments import RenderedPart
from rookery.web.site import Site

HERE = "/machines"
ROWS = 100
PAUSE_SECONDS = 10.0
"""Between two pictures of all machines, which are thousands."""
MOST_BLOCKED = 200
STATES = ("playing", "waiting", "away", "different")


@dataclass(frozen=True, slots=True)
class MachineFilters:
    """What a visitor wants to see, as it stands in the address."""

    text: str = ""
    user: str = ""
    state: str = ""
    page: int = 1

    @property
    def address(self) -> ListAddress:
        return ListAddress(HERE, {"q": self.text, "user": self.user, "state": self.state})


@dataclass(frozen=True, slots=True)
class MachineListData:
    """What the list is made from. Frozen values only, because a thread makes the page."""

    now: datetime
    viewer: Actor | None
    filters: MachineFilters
    roster: Roster
    runs: Mapping[str, Run] = field(default_factory=dict)
    """Those at play that this visitor may see."""
    blocks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostRow:
    """A computer as one row."""

    name: str
    title: str
    also: str
    hardware: str
    system: str
    cores: str
    speed: str
    ratio: str
    status: StatusLabel
    run: str
    run_tag: str
    progress: str
    residual: StatusLabel | None
    heard: Moment


@dataclass(frozen=True, slots=True)
class OwnerGroup:
    """The computers of one user that are on this page of the list, and sums over all of them."""

    owner: str
    mine: bool
    summary: str
    rows: tuple[HostRow, ...]


@dataclass(frozen=True, slots=True)
class BlockedRow:
    """A machine that is given no tasks; why, its owner and approvers read."""

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
    live: str
    """Where the part that moves is fetched."""


@runs(Domain.THREAD, "what is in memory is copied on the loop, folded and rendered in a thread")
async def machine_list(request: Request) -> Response:
    viewer, filters = await viewer_of(request), read_machine_filters(request.query_params)
    data = await _load(site_of(request), viewer, filters)
    return await render_page_in_thread(request, "machine_list.html", make_machine_list_view, data)


@runs(Domain.THREAD, "what is in memory is copied on the loop, folded and rendered in a thread")
async def machine_list_live(request: Request) -> Response:
    """The rows of the list, for the script of its page."""
    site, filters = site_of(request), read_machine_filters(request.query_params)

    async def find(viewer: Actor | None) -> RenderedPart:
        async def render() -> RenderedPart:
            data = await _load(site, viewer, filters)
            return await render_part(site, "machine_list_live.html", make_machine_list_view, data)

        # One's own machines stand first, and why one is blocked its owner reads.
        key = ("machines", filters, viewer, site.privacy.hidden(name_of(viewer)))
        return await site.shared_parts.find_newest(key, lambda: site.bus.seen, render)

    return await answer_live(request, find, pause=PAUSE_SECONDS)


async def _load(site: Site, viewer: Actor | None, filters: MachineFilters) -> MachineListData:
    with translated_errors():
        hidden = site.privacy.hidden(name_of(viewer))
        active = await site.fleet.views.active()
        runs = {run.id: run for run in active if not _plays_any(run, hidden)}
        blocks = await site.fleet.views.blocks()
        roster = await site.roster.load()
    return MachineListData(site.clock.now(), viewer, filters, roster, runs, blocks)


def _plays_any(run: Run, hidden: frozenset[str]) -> bool:
    return bool(hidden) and any(side.engine in hidden for side in run.plan.sides)


def read_machine_filters(query: Mapping[str, str]) -> MachineFilters:
    return MachineFilters(
        text=read_text(query, "q"),
        user=read_text(query, "user"),
        state=read_word(query, "state", STATES),
        page=read_page(query),
    )


def make_machine_list_view(data: MachineListData) -> MachineListView:
    """Goes through all machines, so it is called in a thread."""
    filters, shown = data.filters, _find_hosts(data)
    total = len(shown.hosts)
    page = min(filters.page, max(1, -(-total // ROWS)))
    part = shown.hosts[(page - 1) * ROWS : page * ROWS]
    is_last = page * ROWS >= total and not filters.state
    return MachineListView(
        filters=filters,
        summary=_summarise(shown),
        choices=_list_choices(shown.counts, filters),
        groups=tuple(_make_groups(part, shown.owners, data)),
        blocked=_list_blocked(data) if is_last else (),
        pager=make_pager(filters.address, page, ROWS, total),
        mine=_address_mine(data),
        is_empty=not data.roster.hosts and not data.blocks,
        live=f"{HERE}/live{filters.address.change(page=page).removeprefix(HERE)}",
    )


@dataclass(slots=True)
class OwnerHosts:
    """The computers of one user that a visitor asked for."""

    hosts: list[Host] = field(default_factory=list)
    cores: int = 0


@dataclass(frozen=True, slots=True)
class FoundHosts:
    """What was asked for in the order of the page, and how many there are of each state."""

    hosts: Sequence[Host]
    owners: Mapping[str, OwnerHosts]
    counts: Mapping[str, int]


def _find_hosts(data: MachineListData) -> FoundHosts:
    """One's own first, then owners by the cores they give."""
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
    people = format_plural(len(shown.owners), "person", "people")
    machines = format_plural(len(shown.hosts), "machine")
    return f"{machines} of {people}; {format_plural(cores, 'core')} at play."


def _list_choices(counts: Mapping[str, int], filters: MachineFilters) -> tuple[Choice, ...]:
    words = {"": "all", "different": "results differ"}
    return tuple(
        Choice(
            words.get(state, state),
            filters.address.change(state=state),
            filters.state == state,
            format_count(counts[state]),
        )
        for state in ("", *STATES)
        if counts[state] or state in ("", filters.state)
    )


def _make_groups(
    hosts: Iterable[Host], owners: Mapping[str, OwnerHosts], data: MachineListData
) -> Iterator[OwnerGroup]:
    viewer = name_of(data.viewer)
    for owner, part in groupby(hosts, key=lambda host: host.user):
        sums = owners[owner]
        machines = format_plural(len(sums.hosts), "machine")
        summary = f"{machines}, {format_plural(sums.cores, 'core')} at play"
        rows = tuple(_make_row(host, data) for host in part)
        yield OwnerGroup(owner, owner == viewer, summary, rows)


def _make_row(host: Host, data: MachineListData) -> HostRow:
    shown, more = host.latest, len(host.playing) - 1
    row = describe_known(shown, data)
    if more > 0:
        return replace(row, cores=format_count(host.cores_at_play), also=f"{more + 1} workers")
    earlier = len(host.workers) - 1
    return replace(row, also=format_plural(earlier, "earlier start") if earlier else "")


def describe_known(each: KnownMachine, data: MachineListData) -> HostRow:
    """A machine by itself, as one row."""
    machine, run, name = each.machine, data.runs.get(each.run), each.machine.short_name
    claimed = machine.claimed
    return HostRow(
        name=name,
        title=claimed.host or name.removeprefix(f"{machine.user}-"),
        also="",
        hardware=" ".join(claimed.cpu.split())[:80] or machine.arch,
        system=machine.uname,
        cores=format_count(machine.cores),
        speed=format_nps(machine.nps) if machine.nps > 0 else DASH,
        ratio=compare_speed(machine.nps, run),
        status=_label(each, data),
        run=run.id if run else "",
        run_tag=run.plan.sides[0].tag if run else "",
        progress=_describe_progress(each) if run else "",
        residual=_label_residual(each, data),
        heard=format_ago(each.heard, data.now),
    )


def _label(each: KnownMachine, data: MachineListData) -> StatusLabel:
    is_blocked = each.machine.short_name in data.blocks
    return BLOCKED if is_blocked else label_machine(each, data.now)


def _describe_progress(each: KnownMachine) -> str:
    task = each.task
    return f"{format_count(task.results.games)} of {format_count(task.games)}" if task else ""


def _label_residual(each: KnownMachine, data: MachineListData) -> StatusLabel | None:
    task, colours = each.task, data.roster.picture.residual_colours
    return RESIDUALS.get(colours.get((task.run, task.id))) if task else None


def _list_blocked(data: MachineListData) -> tuple[BlockedRow, ...]:
    """By name: a machine that is away for good stays blocked."""
    filters, text = data.filters, data.filters.text.casefold()
    names = [name for name in sorted(data.blocks) if text in name.casefold()]
    rows = (
        BlockedRow(
            name,
            name.partition("-")[0],
            data.blocks[name] if is_concerned(data.viewer, name) else "",
        )
        for name in names
    )
    return tuple(row for row in rows if filters.user in ("", row.user))[:MOST_BLOCKED]


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
