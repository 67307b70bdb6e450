"""The scheduler's index: finds the run that `eligibility.choose` would, without looking at all
runs.

Theory of operation ------------------- Open runs are kept in groups, one per priority, engine and
demands. A machine's profile selects its groups once (a view, kept until a new group appears); a
whole group either fits the profile or does not. Within a group the order is the claim (busy, load,
id), whose load depends on the run's cores and share and on the asking machine's cores. So a group
has a heap for each core count that has ever asked.

Heaps are lazy. When a run gains cores, its claim grows, and its entry in the heap is merely too
small: it is corrected when it comes to the top. When a claim shrinks (a task ended, a new share, a
run opened), the run is marked as touched in every heap of its group, and each heap adds its touched
runs when it is next used. A closed run is dropped when it comes to the top.

The index belongs to the working set and has the same single writer.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from rookery.core.model.machine import Machine, Profile
from rookery.core.model.plan import Demands
from rookery.core.model.run import Run
from rookery.server.farm.rules.eligibility import (
    NO_PAST,
    Claim,
    EngineLoads,
    Past,
    Reason,
    claim,
    closed_reason,
    first,
    mismatch,
    past_reason,
)

# A group of the index: runs that suit the same machines, in order for each core count.

SPARE = 256
"""The outdated entries that a heap may hold, besides one for every run, before it is rebuilt."""


@dataclass(slots=True)
class IndexedRun:
    """A run as the index knows it."""

    id: str
    group: "RunGroup"
    cores: int
    share: float
    closed: Reason | None

    def claim(self, machine_cores: int, again: int = 0) -> Claim:
        return claim(self.id, self.cores + again, self.share, machine_cores)


@dataclass(slots=True)
class ClaimHeap:
    """The open runs of a group, ordered for machines with `cores` cores."""

    cores: int
    heap: list[Claim] = field(default_factory=list)
    known: dict[str, Claim] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def best(self, group: "RunGroup", passed_over: Collection[str]) -> Claim | None:
        """Return the smallest claim of an open run that is not in `passed_over`."""
        if self.touched:
            self._add_touched(group)
        if len(self.heap) > SPARE + 2 * len(self.known):
            self._sweep(group)
        top = self._top(group)
        if top is None or top[2] not in passed_over:
            return top
        aside: list[Claim] = []
        while top and top[2] in passed_over:
            aside.append(heapq.heappop(self.heap))
            top = self._top(group)
        for each in aside:
            heapq.heappush(self.heap, each)
        return top

    def _add_touched(self, group: "RunGroup") -> None:
        heap, known, runs, half = self.heap, self.known, group.open, self.cores / 2
        for run_id in self.touched:
            if entry := runs.get(run_id):
                # `eligibility.claim`, inlined: this loop is most of the cost of a decision.
                now = (entry.cores > 0, (entry.cores + half) / entry.share, run_id)
                before = known.get(run_id)
                if before is None or now < before:
                    known[run_id] = now
                    heapq.heappush(heap, now)
        self.touched.clear()

    def _sweep(self, group: "RunGroup") -> None:
        """Rebuild the heap without outdated entries."""
        self.known = {run_id: top for run_id, top in self.known.items() if run_id in group.open}
        self.heap = sorted(self.known.values())

    def _top(self, group: "RunGroup") -> Claim | None:
        """Return the smallest claim, after outdated entries above it were removed or corrected."""
        heap, known, runs, half = self.heap, self.known, group.open, self.cores / 2
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
class RunGroup:
    """Runs of one priority, engine and set of demands."""

    priority: int
    engine: str
    demands: Demands
    open: dict[str, IndexedRun] = field(default_factory=dict)
    closed: dict[Reason, set[str]] = field(default_factory=dict)
    heaps: dict[int, ClaimHeap] = field(default_factory=dict)

    def touch(self, run_id: str) -> None:
        for heap in self.heaps.values():
            heap.touched.add(run_id)

    def heap_for(self, cores: int) -> ClaimHeap:
        found = self.heaps.get(cores)
        if found is None:
            found = self.heaps[cores] = ClaimHeap(cores, touched=set(self.open))
        return found

    def best(self, machine: Machine, past: Past) -> Claim | None:
        """Return the claim of the run of this group that the machine should play."""
        if not self.open:
            return None
        if machine.near_api_limit and not self.demands.mirrored:
            known = past.seen & self.open.keys()
            return self._best_of(known - past.failed, machine, past)
        last = self.open.get(past.last)
        passed_over = {past.last, *past.failed} if last or past.failed else ()
        best = self.heap_for(machine.cores).best(self, passed_over)
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
        """Why the machine does not play runs of this group, each reason with a number of runs;
        `why` is the mismatch between the group's demands and the machine."""
        yield from self._reasons_against(self.open.keys(), why, machine, past)
        for closed, ids in self.closed.items():
            yield from self._reasons_against(ids, first(closed, why), machine, past)

    def _reasons_against(
        self, ids: AbstractSet[str], why: Reason | None, machine: Machine, past: Past
    ) -> Iterable[tuple[Reason, int]]:
        """Reasons against these runs: the one that they share, or what the machine's past adds."""
        mirrored = self.demands.mirrored
        strange = past_reason("", mirrored, machine, NO_PAST)
        special = (past.seen if strange else past.failed) & ids
        if general := first(why, strange):
            yield general, len(ids) - len(special)
        for run_id in special:
            if reason := first(why, past_reason(run_id, mirrored, machine, past)):
                yield reason, 1


MOST_VIEWS = 10_000
"""The most profiles whose views are kept."""


_Tier = dict[str, list[RunGroup]]
"""The groups of one priority, by engine."""


class _View(NamedTuple):
    """The groups of the index as machines of one profile see them."""

    tiers: list[_Tier]
    groups: list[tuple[RunGroup, Reason | None]]
    """All groups, each with the reason that excludes it for this profile, if there is one."""


class RunIndex:
    """All unfinished runs, indexed for the question which of them a machine should play."""

    def __init__(self, engine_shares: Mapping[str, float] | None = None) -> None:
        self._entries: dict[str, IndexedRun] = {}
        self._groups: dict[tuple[int, str, Demands], RunGroup] = {}
        self._views: dict[Profile, _View] = {}
        self._cores: dict[str, int] = {}
        self.opened = 0
        """How often a run became open for machines."""
        self._loads = EngineLoads(self._cores, {} if engine_shares is None else engine_shares)

    def put(self, run: Run) -> None:
        """Add a run, or update it after a change."""
        entry = self._entries.get(run.id)
        if entry is None or entry.group.priority != run.plan.priority:
            self.remove(run.id)
            self._add(run)
        else:
            self._change(entry, run)

    def remove(self, run_id: str) -> None:
        """Remove a finished run; removing it twice does nothing."""
        if entry := self._entries.pop(run_id, None):
            self._cores[entry.group.engine] -= entry.cores
            self._leave(entry)

    def choose(self, machine: Machine, past: Past = NO_PAST) -> str | None:
        """Return the id of the run that this machine should play; None if there is none."""
        for tier in self._view(machine.profile).tiers:
            for engine in self._by_load(tier, machine.cores):
                best = None
                for group in tier[engine]:
                    found = group.best(machine, past)
                    if found and (best is None or found < best):
                        best = found
                if best:
                    return best[2]
        return None

    def reasons(self, machine: Machine, past: Past = NO_PAST) -> dict[Reason, int]:
        """For each reason, the number of runs that it excludes for this machine."""
        counts: dict[Reason, int] = {}
        for group, why in self._view(machine.profile).groups:
            for reason, number in group.reasons(why, machine, past):
                counts[reason] = counts.get(reason, 0) + number
        return {reason: number for reason, number in counts.items() if number}

    def engine_loads(self) -> EngineLoads:
        return self._loads

    def _add(self, run: Run) -> None:
        group = self._group(run)
        entry = IndexedRun(run.id, group, run.tally.cores, run.share, closed_reason(run))
        self._entries[run.id] = entry
        self._cores[group.engine] = self._cores.get(group.engine, 0) + entry.cores
        self._enter(entry)

    def _change(self, entry: IndexedRun, run: Run) -> None:
        closed, cores, share = closed_reason(run), run.tally.cores, run.share
        smaller = cores < entry.cores or share > entry.share
        self._cores[entry.group.engine] += cores - entry.cores
        if closed != entry.closed:
            self._leave(entry)
            entry.cores, entry.share, entry.closed = cores, share, closed
            self._enter(entry)
        else:
            entry.cores, entry.share = cores, share
            if smaller and closed is None:
                entry.group.touch(entry.id)

    def _enter(self, entry: IndexedRun) -> None:
        group = entry.group
        if entry.closed is None:
            group.open[entry.id] = entry
            self.opened += 1
            group.touch(entry.id)
        else:
            group.closed.setdefault(entry.closed, set()).add(entry.id)

    def _leave(self, entry: IndexedRun) -> None:
        if entry.closed is None:
            del entry.group.open[entry.id]
        else:
            entry.group.closed[entry.closed].remove(entry.id)

    def _group(self, run: Run) -> RunGroup:
        key = (run.plan.priority, run.plan.engine, run.demands)
        if key not in self._groups:
            self._drop_empty_groups()
            self._groups[key] = RunGroup(*key)
            self._views.clear()
        return self._groups[key]

    def _drop_empty_groups(self) -> None:
        self._groups = {
            key: group
            for key, group in self._groups.items()
            if group.open or any(group.closed.values())
        }

    def _view(self, profile: Profile) -> _View:
        view = self._views.get(profile)
        if view is None:
            if len(self._views) >= MOST_VIEWS:
                self._views.clear()
            view = self._views[profile] = self._make_view(profile)
        return view

    def _make_view(self, profile: Profile) -> _View:
        tiers: dict[tuple[bool, int], _Tier] = {}
        groups = [(group, mismatch(group.demands, profile)) for group in self._groups.values()]
        for group, why in groups:
            if why is None:
                place = group.engine not in profile.focus, -group.priority
                tiers.setdefault(place, {}).setdefault(group.engine, []).append(group)
        return _View([tiers[place] for place in sorted(tiers)], groups)

    def _by_load(self, tier: _Tier, cores: int) -> Iterable[str]:
        if len(tier) == 1:
            return tier
        return sorted(tier, key=lambda engine: (self._loads.load(engine, cores), engine))
