"""Tasks: a slice of a run's games on one machine, and what the machine has reported of it."""

from dataclasses import dataclass, replace
from datetime import datetime

from rookery.core.machine import Machine
from rookery.core.results import NOTHING, Results

TaskKey = tuple[str, int]
"""Run id and number of a task: how everybody refers to it."""


@dataclass(frozen=True, slots=True)
class Task:
    """Games `start` to `start + games` of a run; no other task of the run overlaps them.

    `ticket` belongs to the kind of run: whatever it must remember until the next report.
    `reported` is when the last result came in, which a sign of life alone doesn't change.
    """

    run: str
    id: int
    start: int
    games: int
    machine: Machine
    created: datetime
    reported: datetime
    results: Results = NOTHING
    ticket: object | None = None
    active: bool = True
    bad: bool = False
    too_fast: bool = False

    @property
    def committed(self) -> int:
        """Games that nobody else needs to play: all while it lives, the played ones after."""
        return self.games if self.active else self.results.games

    def with_results(self, results: Results, ticket: object | None, now: datetime) -> "Task":
        return self._with(now, results, ticket, active=self.active)

    def flagged(self) -> "Task":
        """Marked as played faster than is possible."""
        return replace(self, too_fast=True)

    def described(self, machine: Machine) -> "Task":
        """With the machine as it describes itself now, at the address the task was given out to."""
        if machine.address != self.machine.address:
            machine = replace(machine, address=self.machine.address)
        return replace(self, machine=machine)

    def closed(self) -> "Task":
        """The same task once nobody plays it; closing it twice changes nothing."""
        return self._with(self.reported, self.results, None, active=False) if self.active else self

    def _with(
        self, reported: datetime, results: Results, ticket: object | None, *, active: bool
    ) -> "Task":
        # Spelled out: dataclasses.replace costs several times as much, and this is the hot path.
        return Task(
            self.run,
            self.id,
            self.start,
            self.games,
            self.machine,
            self.created,
            reported,
            results,
            ticket,
            active,
            self.bad,
            self.too_fast,
        )
