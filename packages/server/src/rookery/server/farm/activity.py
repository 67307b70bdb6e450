"""Publishes, every few seconds, what only the primary has in memory, for the other processes.

    primary: figures, signs of life, machines that wait --encoded in a thread--> two rows
    others:  figures, read when they changed;  machines, read when somebody asks for them

Theory of operation. Figures change once a minute, so most rounds only refresh their time stamp.
Signs of life and the list of waiting machines change all the time; each machine's description is
encoded once and kept with it. A server without others publishes nothing. All of this is for display
only: no decision depends on it, and a new primary starts from rows.
"""

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.published import (
    EncodedMachine,
    InThread,
    PublishedFigures,
    decode_figures,
    encode_figures,
    encode_machines,
)
from rookery.server.farm.reads import FIGURES, MACHINES
from rookery.server.farm.rules.machines import MachineState
from rookery.server.farm.terms import PrimaryTerm
from rookery.server.farm.views import RunSpeed

PUBLISH_SECONDS = 5.0
OLD_SECONDS = 15.0
"""Figures older than this are marked with their age on every page, not only on pages about
machines."""
MOST_MACHINES = 50_000
"""The most signs of life, and the most waiting machines, that are published: those of the latest
minute at 100,000 machines. For other tasks readers see their last report."""
MACHINES_AT_ONCE = 500


@runs(Domain.THREAD, "values are gathered in slices on the loop, encoded and decoded in a thread")
class ActivityKeeping:
    """The periodic job: the primary publishes while other servers live; the others read."""

    def __init__(self, fleet: Fleet, in_thread: InThread, has_others: Callable[[], bool]) -> None:
        self._fleet = fleet
        self._primary = fleet.primary
        self._in_thread = in_thread
        self._has_others = has_others
        self._published: object = None
        self._read: datetime | None = None

    async def __call__(self) -> None:
        term = self._primary.present_term()
        if term is None:
            await self._follow()
        else:
            self._fleet.activity.since = None
            if self._has_others():
                await self._publish(term)

    @property
    def age_seconds(self) -> float:
        """The age of the figures that another process published; 0 in the primary."""
        since = self._fleet.activity.since
        return (self._primary.clock.now() - since).total_seconds() if since else 0.0

    def describe_moment(self) -> str:
        """Return the age of what pages show about machines, in words; empty in the primary, which
        always has current data."""
        return f"as of {self.age_seconds:.0f} s ago" if self._fleet.activity.since else ""

    def describe_age(self) -> str:
        """Return the notice that every page shows while figures are too old; otherwise empty."""
        age = self.age_seconds
        return f"what machines do is shown as of {age:.0f} s ago" if age > OLD_SECONDS else ""

    async def _publish(self, term: PrimaryTerm) -> None:
        await self._publish_figures(term)
        seen, waiting = term.working.last_seen.latest(MOST_MACHINES), list[EncodedMachine]()
        states = tuple(term.working.machines.states())[-MOST_MACHINES:]
        for start in range(0, len(states), MACHINES_AT_ONCE):
            part = states[start : start + MACHINES_AT_ONCE]
            waiting += [_describe(each) for each in part if not _plays(term, each)]
            await asyncio.sleep(0)
        body = await self._in_thread(lambda: encode_machines(seen, waiting))
        await self._primary.publish(MACHINES, body)

    async def _publish_figures(self, term: PrimaryTerm) -> None:
        shown = self._fleet.activity
        speeds, paces, colours = shown.speeds, shown.user_paces, shown.residual_colours
        # The jobs replace these mappings instead of changing them, so their identities tell whether
        # anything changed.
        what = (term, id(speeds), id(paces), id(colours), shown.waiting_machines)
        if what == self._published:
            await self._primary.publish(FIGURES, None)
            return
        count = shown.waiting_machines
        body = await self._in_thread(
            lambda: encode_figures(
                PublishedFigures(
                    {run: (speed.nps, speed.games_per_minute) for run, speed in speeds.items()},
                    dict(paces),
                    count,
                    [(*key, colour) for key, colour in colours.items()],
                )
            )
        )
        await self._primary.publish(FIGURES, body)
        self._published = what

    async def _follow(self) -> None:
        found = await self._primary.reads.published(FIGURES, self._read)
        if found is None:
            return
        shown = self._fleet.activity
        shown.since = self._primary.clock.now() - timedelta(seconds=found.age)
        if (body := found.body) is not None:
            figures = await self._in_thread(lambda: decode_figures(body))
            shown.speeds = {run: RunSpeed(*pair) for run, pair in figures.speeds.items()}
            shown.user_paces = figures.user_paces
            shown.waiting_machines = figures.waiting_machines
            shown.residual_colours = {
                (run, task): colour for run, task, colour in figures.residual_colours
            }
            self._read = found.changed


def _plays(term: PrimaryTerm, state: MachineState) -> bool:
    return state.task is not None and term.working.task(state.task) is not None


def _describe(state: MachineState) -> EncodedMachine:
    failed = {run: at.timestamp() for run, at in state.failed.items()}
    return state.machine.encoded, state.asked.timestamp(), state.last, failed
