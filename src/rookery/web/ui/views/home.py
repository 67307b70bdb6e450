"""The start page: the fleet in a strip, runs that wait, play and have ended."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import urlencode

from rookery.core.lifecycle import Actor
from rookery.core.run import DisplayState, Run
from rookery.core.task import Task
from rookery.service.fleet.ports import Sample
from rookery.service.fleet.views import Pulse
from rookery.web.ui.views import figures, words
from rookery.web.ui.views.figures import pulse_of
from rookery.web.ui.views.first_hour import NextStep, next_steps
from rookery.web.ui.views.row import Known, RunRow, row_of

PAGE_SIZE = 25
MOST_UNFINISHED = 100
"""More rows than this nobody reads; the filters find the rest."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What a visitor wants to see, as it stands in the address."""

    owner: str = ""
    engine: str = ""
    only: str = ""
    page: int = 1

    def address(self, **changes: object) -> str:
        """The start page with these filters, some of them changed."""
        given = {"owner": self.owner, "engine": self.engine, "only": self.only, "page": self.page}
        wanted = {name: value for name, value in {**given, **changes}.items() if value}
        if wanted.get("page") == 1:
            del wanted["page"]
        return f"/?{urlencode(wanted)}" if wanted else "/"

    def suits(self, run: Run) -> bool:
        by_owner = self.owner in ("", run.plan.owner)
        return by_owner and self.engine in ("", *(side.engine for side in run.plan.sides))


@dataclass(frozen=True, slots=True)
class HomeMaterial:
    """All that was loaded; frozen values alone, because a thread makes the page of them."""

    now: datetime
    viewer: Actor | None = None
    unfinished: tuple[Run, ...] = ()
    finished: tuple[Run, ...] = ()
    finished_today: int = 0
    then: Mapping[str, Sample] = field(default_factory=dict)
    pulses: Mapping[str, Pulse] = field(default_factory=dict)
    filters: Filters = Filters()
    trouble: str = ""
    role: str = ""
    address: str = ""
    signing_up: bool = True
    waiting_machines: int = 0
    young: Mapping[str, tuple[Task, ...]] = field(default_factory=dict)
    """Tasks at play of runs whose speed is not known yet."""

    def known(self, run: Run) -> Known:
        pulse = self.pulses.get(run.id)
        if pulse is None:
            pulse = pulse_of(run, self.young.get(run.id, ()))
        return Known(run, self.then.get(run.id), pulse)


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the strip."""

    name: str
    text: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """A run that waits for an approver, and whether this visitor may approve it."""

    row: RunRow
    approvable: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter that can be chosen."""

    word: str
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class HomeView:
    """`trouble` is empty when everything works; `bare` where there is nothing to see yet."""

    trouble: str
    role: str
    address: str
    strip: tuple[Figure, ...]
    waiting: tuple[Waiting, ...]
    playing: tuple[RunRow, ...]
    finished: tuple[RunRow, ...]
    left_off: str
    choices: tuple[Choice, ...]
    removable: tuple[Choice, ...]
    """Filters that are in force, each with where it leads to take it away."""
    earlier: str
    later: str
    live: str
    bare: bool
    steps: tuple[NextStep, ...]


def home_view(material: HomeMaterial) -> HomeView:
    """Costs statistics: called in a thread."""
    filters = material.filters
    wanted = [run for run in material.unfinished if filters.suits(run)]
    waiting = [run for run in wanted if run.display is DisplayState.PENDING]
    playing = sorted((run for run in wanted if run.status.approved), key=_place)
    query = filters.address().removeprefix("/")
    return HomeView(
        trouble=material.trouble,
        role=material.role,
        address=material.address,
        strip=_strip(material),
        waiting=tuple(_waiting(run, material) for run in waiting[:MOST_UNFINISHED]),
        playing=tuple(_rows(playing[:MOST_UNFINISHED], material)),
        finished=tuple(_rows(material.finished, material)),
        left_off=_left_off(len(wanted) - len(waiting[:MOST_UNFINISHED]), len(playing)),
        choices=_choices(filters),
        removable=_removable(filters),
        earlier=_earlier(material),
        later=filters.address(page=filters.page - 1) if filters.page > 1 else "",
        live=f"/live{query}",
        steps=_steps(material),
        bare=not (material.unfinished or material.finished or filters != Filters()),
    )


def _steps(material: HomeMaterial) -> tuple[NextStep, ...]:
    if material.filters != Filters():
        return ()
    runs = (*material.unfinished, *material.finished)
    return next_steps(runs, material.address, signing_up=material.signing_up)


def _place(run: Run) -> tuple[bool, int, int, str]:
    """Those that play first, the more cores the higher."""
    return run.tally.workers == 0, -run.plan.priority, -run.tally.cores, run.id


def _rows(runs: Iterable[Run], material: HomeMaterial) -> Iterable[RunRow]:
    return (row_of(material.known(run), material.now) for run in runs)


def _waiting(run: Run, material: HomeMaterial) -> Waiting:
    viewer = material.viewer
    may = viewer is not None and viewer.approver and viewer.name != run.plan.owner
    return Waiting(row_of(material.known(run), material.now), may)


def _left_off(shown: int, playing: int) -> str:
    more = max(0, min(shown, playing) - MOST_UNFINISHED)
    return f"and {words.several(more, 'more run')}" if more else ""


def _strip(material: HomeMaterial) -> tuple[Figure, ...]:
    """Over all runs, whatever the filters."""
    runs = material.unfinished
    known = [material.known(run) for run in runs if run.tally.workers]
    rate = sum(
        figures.games_per_minute(one.run, one.then, one.pulse, material.now) for one in known
    )
    nodes = sum(one.pulse.nps for one in known)
    return (
        Figure("cores", words.count(sum(run.tally.cores for run in runs))),
        Figure("workers", words.count(sum(run.tally.workers for run in runs)), _idle(material)),
        Figure("games a minute", words.rate(rate)),
        Figure("speed", words.speed(nodes) if nodes else words.NOTHING),
        Figure("tests finished today", words.count(material.finished_today)),
    )


def _idle(material: HomeMaterial) -> str:
    """A volunteer whose machine has nothing to play sees that it is there."""
    count = material.waiting_machines
    return f"{words.count(count)} waiting" if count else ""


def _choices(filters: Filters) -> tuple[Choice, ...]:
    named = (("all", ""), ("passed", "green"), ("positive", "yellow"), ("long", "ltc"))
    return tuple(
        Choice(word, filters.address(only=value, page=1), filters.only == value)
        for word, value in named
    )


def _removable(filters: Filters) -> tuple[Choice, ...]:
    named = (("owner", f"by {filters.owner}"), ("engine", filters.engine))
    given = {"owner": filters.owner, "engine": filters.engine}
    return tuple(
        Choice(word, filters.address(**{name: "", "page": 1}), chosen=True)
        for name, word in named
        if given[name]
    )


def _earlier(material: HomeMaterial) -> str:
    """A full page is probably not the last one."""
    more = len(material.finished) >= PAGE_SIZE
    return material.filters.address(page=material.filters.page + 1) if more else ""
