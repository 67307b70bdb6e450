"""The list of machines: computers by owner, their present activity and the quality of their
results."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.clock import Clock
from rookery.core.model.actor import Actor
from rookery.core.model.run import Run
from rookery.server.engines.privacy import Privacy, may_see_machine_details, name_of
from rookery.server.farm.hosts import Host, ListedHost, MachineRoster, Roster
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.views import FleetViews
from rookery.server.http.pages.filters import read_search, read_text, read_word
from rookery.server.http.pages.listing import ListAddress, make_pager, read_page
from rookery.server.http.pages.pages import Page, Pages
from rookery.server.http.signatures import Parts
from rookery.server.runs.live import answer_live_list
from rookery.server.show.rights import plays_engine

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


LOADED = "what is in memory is copied on the loop, folded and rendered in a thread"
pages = Pages()
routes = pages.make_routes


@dataclass(frozen=True, slots=True)
class ListParts(Parts):
    """Where the data of the list is read."""

    views: FleetViews
    roster: MachineRoster
    reads: FleetReads
    privacy: Privacy
    clock: Clock


@pages(f"GET {HERE}", LOADED)
async def machine_list(query: QueryParams, viewer: Actor | None, parts: ListParts) -> Page:
    data = await _load(parts, viewer, read_machine_filters(query))
    return Page("machine_list.html", data, make=list_machines)


@pages(f"GET {HERE}/live", LOADED)
async def machine_list_live(request: Request, query: QueryParams, parts: ListParts) -> Response:
    """The rows of the list, for the page's script."""
    filters = read_machine_filters(query)

    return await answer_live_list(
        request,
        "machine_list_live.html",
        lambda viewer: _load(parts, viewer, filters),
        # The user's own machines are first in the list, and owners can read why a machine is
        # blocked.
        lambda viewer: (filters, viewer, parts.privacy.hidden(name_of(viewer))),
        pause=PAUSE_SECONDS,
        make=list_machines,
    )


async def _load(parts: ListParts, viewer: Actor | None, filters: MachineFilters) -> MachineListData:
    hidden = parts.privacy.hidden(name_of(viewer))
    active = await parts.views.active()
    runs = {run.id: run for run in active if not plays_engine(run, hidden)}
    blocks = await parts.views.blocks()
    roster = await parts.roster.load()
    last = {each.last_run for each in roster.picture.known if each.last_run}
    found = await parts.reads.runs(sorted(last, reverse=True)[:MOST_PLAYED_BEFORE])
    played = {run.id: run for run in found if not plays_engine(run, hidden)}
    return MachineListData(parts.clock.now(), viewer, filters, roster, runs, played, blocks)


def read_machine_filters(query: Mapping[str, str]) -> MachineFilters:
    return MachineFilters(
        text=read_search(query),
        user=read_text(query, "user"),
        state=read_word(query, "state", (*STATES, BLOCKED_ONES)),
        page=read_page(query),
    )


def list_machines(data: MachineListData) -> Mapping[str, object]:
    """What the list shows. It goes through all machines, so call it in a thread."""
    filters, found, blocked = data.filters, _find_hosts(data), _list_blocked(data)
    asked = filters.state == BLOCKED_ONES
    total = len(blocked if asked else found.hosts)
    page = min(filters.page, max(1, -(-total // ROWS)))
    here = slice((page - 1) * ROWS, page * ROWS)
    return {
        "data": data,
        "filters": filters,
        "owners": found.owners,
        "counts": {**found.counts, BLOCKED_ONES: len(blocked)},
        "groups": [
            (owner, tuple(hosts)) for owner, hosts in groupby(found.hosts[here], lambda h: h.user)
        ],
        "blocked": blocked[here] if asked else (),
        "total": total,
        "pager": make_pager(filters.address, page, ROWS, total),
        "live": f"{HERE}/live{filters.address.change(page=page).removeprefix(HERE)}",
    }


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


def _list_blocked(data: MachineListData) -> list[tuple[str, str, str]]:
    """The blocked machines by name, each with its owner and the reason, which is for the owner and
    approvers. A machine that never returns stays blocked."""
    filters, text = data.filters, data.filters.text.casefold()
    names = (name for name in sorted(data.blocks) if text in name.casefold())
    rows = (
        (
            name,
            name.partition("-")[0],
            data.blocks[name] if may_see_machine_details(data.viewer, name) else "",
        )
        for name in names
    )
    return [row for row in rows if filters.user in ("", row[1])]
