"""A shelf of the index: open runs that suit the same machines, in order for each core count."""

import heapq
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from rookery.core.demands import Demands
from rookery.core.machine import Machine
from rookery.core.scheduling.eligibility import (
    NO_PAST,
    Past,
    Reason,
    estranged,
    first,
)
from rookery.core.scheduling.ranking import Claim, claim

SPARE = 256
"""Outdated entries a heap may hold before it is swept, beside one for every run."""


@dataclass(slots=True)
class Entry:
    """What the index knows of a run."""

    id: str
    shelf: "Shelf"
    cores: int
    share: float
    closed: Reason | None

    def claim(self, machine_cores: int, again: int = 0) -> Claim:
        return claim(self.id, self.cores + again, self.share, machine_cores)


@dataclass(slots=True)
class Line:
    """The open runs of a shelf in the order for one core count."""

    cores: int
    heap: list[Claim] = field(default_factory=list)
    known: dict[str, Claim] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def best(self, shelf: "Shelf", passed_over: Collection[str]) -> Claim | None:
        """The smallest claim of an open run that is not passed over."""
        if self.touched:
            self._add_touched(shelf)
        if len(self.heap) > SPARE + 2 * len(self.known):
            self._sweep(shelf)
        top = self._top(shelf)
        if top is None or top[2] not in passed_over:
            return top
        aside: list[Claim] = []
        while top and top[2] in passed_over:
            aside.append(heapq.heappop(self.heap))
            top = self._top(shelf)
        for each in aside:
            heapq.heappush(self.heap, each)
        return top

    def _add_touched(self, shelf: "Shelf") -> None:
        heap, known, runs, half = self.heap, self.known, shelf.open, self.cores / 2
        for run_id in self.touched:
            if entry := runs.get(run_id):
                # `ranking.claim` written out: this loop is most of what a decision costs.
                now = (entry.cores > 0, (entry.cores + half) / entry.share, run_id)
                before = known.get(run_id)
                if before is None or now < before:
                    known[run_id] = now
                    heapq.heappush(heap, now)
        self.touched.clear()

    def _sweep(self, shelf: "Shelf") -> None:
        """Drop what is outdated before it outgrows what is not."""
        self.known = {run_id: top for run_id, top in self.known.items() if run_id in shelf.open}
        self.heap = sorted(self.known.values())

    def _top(self, shelf: "Shelf") -> Claim | None:
        """The smallest claim, once everything outdated above it is gone or put right."""
        heap, known, runs, half = self.heap, self.known, shelf.open, self.cores / 2
        while heap:
            top = heap[0]
            busy, load, run_id = top
            if known.get(run_id) is not top:
                heapq.heappop(heap)
            elif (entry := runs.get(run_id)) is None:
                heapq.heappop(heap)
                del known[run_id]
            elif (entry.cores > 0) is busy and (entry.cores + half) / entry.share == load:
                return top
            else:
                now = known[run_id] = entry.claim(self.cores)
                heapq.heapreplace(heap, now)
        return None


@dataclass(slots=True)
class Shelf:
    """Runs of one priority, engine and set of demands."""

    priority: int
    engine: str
    demands: Demands
    open: dict[str, Entry] = field(default_factory=dict)
    closed: dict[Reason, set[str]] = field(default_factory=dict)
    lines: dict[int, Line] = field(default_factory=dict)

    def touch(self, run_id: str) -> None:
        for line in self.lines.values():
            line.touched.add(run_id)

    def line(self, cores: int) -> Line:
        found = self.lines.get(cores)
        if found is None:
            found = self.lines[cores] = Line(cores, touched=set(self.open))
        return found

    def best(self, machine: Machine, past: Past) -> Claim | None:
        """The run of this shelf that the machine should play."""
        if not self.open:
            return None
        if machine.near_api_limit and not self.demands.mirrored:
            known = past.seen & self.open.keys()
            return self._best_of(known - past.failed, machine, past)
        last = self.open.get(past.last)
        passed_over = {past.last, *past.failed} if last or past.failed else ()
        best = self.line(machine.cores).best(self, passed_over)
        if last is None or last.id in past.failed:
            return best
        own = last.claim(machine.cores, again=machine.cores)
        return own if best is None or own < best else best

    def _best_of(self, ids: Iterable[str], machine: Machine, past: Past) -> Claim | None:
        entries = map(self.open.__getitem__, ids)
        return min(
            (
                entry.claim(machine.cores, machine.cores if entry.id == past.last else 0)
                for entry in entries
            ),
            default=None,
        )

    def reasons(
        self, why: Reason | None, machine: Machine, past: Past
    ) -> Iterable[tuple[Reason, int]]:
        """Why the machine does not play runs of this shelf, each with a number of runs; `why` is
        the mismatch between their demands and the machine."""
        yield from self._reasons_against(self.open.keys(), why, machine, past)
        for closed, ids in self.closed.items():
            yield from self._reasons_against(ids, first(closed, why), machine, past)

    def _reasons_against(
        self, ids: AbstractSet[str], why: Reason | None, machine: Machine, past: Past
    ) -> Iterable[tuple[Reason, int]]:
        """Reasons against these runs: the one they share, or what the machine's past adds."""
        mirrored = self.demands.mirrored
        strange = estranged("", mirrored, machine, NO_PAST)
        special = (past.seen if strange else past.failed) & ids
        if general := first(why, strange):
            yield general, len(ids) - len(special)
        for run_id in special:
            if reason := first(why, estranged(run_id, mirrored, machine, past)):
                yield reason, 1
