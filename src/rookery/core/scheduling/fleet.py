"""The fleet as the scheduler sees it: machines that ask or play, and what each would be given."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from rookery.core.machine import Machine
from rookery.core.run import Run
from rookery.core.scheduling.eligibility import Past
from rookery.core.scheduling.ranking import EngineLoads
from rookery.core.task import Task
from rookery.core.troubles import Trouble
from rookery.core.workingset import WorkingSet

STILL_THERE = timedelta(minutes=20)
"""An idle worker asks at least every quarter of an hour."""


@dataclass(frozen=True, slots=True)
class Member:
    """A machine of the fleet, with its past and whether it is at work."""

    machine: Machine
    past: Past
    busy: bool


class Fleet:
    """A view of the working set that changes nothing."""

    def __init__(self, working: WorkingSet, now: datetime) -> None:
        self._working = working
        self._now = now

    def members(self, most: int) -> list[Member]:
        """Machines that are at work or asked not long ago, and are not blocked; idle ones first,
        since they ask next."""
        roster, now = self._working.roster, self._now
        found = (
            (seat.machine, seat, self._working.task(seat.task) if seat.task else None)
            for seat in roster.seats()
            if seat.machine.short_name not in roster.blocks
        )
        members = [
            (task is not None, machine, seat)
            for machine, seat, task in found
            if task or now - seat.asked <= STILL_THERE
        ]
        members.sort(key=lambda member: member[0])
        return [
            Member(machine, seat.past(machine, now), busy) for busy, machine, seat in members[:most]
        ]

    def choice(self, member: Member) -> Run | None:
        """What this machine would be given if it asked now."""
        return self._working.would_play(member.machine, self._now)

    def tasks(self, run_id: str) -> Sequence[Task]:
        return tuple(self._working.tasks(run_id))

    def troubles(self, run_id: str) -> tuple[Trouble, ...]:
        return self._working.troubles.of(run_id)

    def engine_loads(self) -> EngineLoads:
        return self._working.index.engine_loads()
