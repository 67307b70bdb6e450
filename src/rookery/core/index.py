"""The scheduler's index: finds the run that `ranking` would choose without looking at all runs.

Theory of operation
-------------------
Runs that are open for machines stand in shelves, one per priority, engine and demands. A machine's
profile picks its shelves once (a view, kept until a shelf appears); whole shelves are out of the
question for it or fit. Within a shelf the order is the claim (busy, load, id), where the load
depends on the run's cores and share and on how many cores the asking machine has. So a shelf keeps
one heap per distinct core count that has ever asked.

A heap is lazy. When a run gains cores its claim grows, and the entry in the heap is merely too
small: it is put right when it comes to the top. When a claim shrinks (a task ended, a new share,
a run opened) the run is noted as touched in every heap of its shelf, and a heap adds what was
touched when it is next asked. A run that closed is dropped when it comes to the top.

The index belongs to the working set and has the same single writer.
"""

import heapq
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from rookery.core.demands import Demands
from rookery.core.eligibility import NO_PAST, Past, Reason, estranged, first, mismatch, standing
from rookery.core.machine import Machine, Profile
from rookery.core.ranking import Claim, EngineLoads, claim
from rookery.core.run import Run

MOST_VIEWS = 20_000
"""Profiles remembered at a time; beyond it they are worked out again."""


@dataclass(slots=True)
class _Entry:
    """What the index knows of a run."""

    id: str
    shelf: "_Shelf"
    cores: int
    share: float
    closed: Reason | None

    def claim(self, machine_cores: int, again: int = 0) -> Claim:
        return claim(self.id, self.cores + again, self.share, machine_cores)


@dataclass(slots=True)
class _Line:
    """The open runs of a shelf in the order for one core count."""

    cores: int
    heap: list[Claim] = field(default_factory=list)
    known: dict[str, Claim] = field(default_factory=dict)
    touched: set[str] = field(default_factory=set)

    def best(self, shelf: "_Shelf", passed_over: Collection[str]) -> Claim | None:
        """The smallest claim of an open run that is not passed over."""
        self._add_touched(shelf)
        if len(self.heap) > 64 + 2 * len(self.known):
            self._sweep(shelf)
        aside: list[Claim] = []
        while (top := self._top(shelf)) and top[2] in passed_over:
            aside.append(heapq.heappop(self.heap))
        for each in aside:
            heapq.heappush(self.heap, each)
        return top

    def _add_touched(self, shelf: "_Shelf") -> None:
        for run_id in self.touched:
            if entry := shelf.open.get(run_id):
                now = entry.claim(self.cores)
                before = self.known.get(run_id)
                if before is None or now < before:
                    self.known[run_id] = now
                    heapq.heappush(self.heap, now)
        self.touched.clear()

    def _sweep(self, shelf: "_Shelf") -> None:
        """Drop what is outdated before it outgrows what is not."""
        self.known = {run_id: top for run_id, top in self.known.items() if run_id in shelf.open}
        self.heap = sorted(self.known.values())

    def _top(self, shelf: "_Shelf") -> Claim | None:
        """The smallest claim, once everything outdated above it is gone or put right."""
        heap, known = self.heap, self.known
        while heap:
            top = heap[0]
            run_id = top[2]
            if known.get(run_id) != top:
                heapq.heappop(heap)
            elif (entry := shelf.open.get(run_id)) is None:
                heapq.heappop(heap)
                del known[run_id]
            elif (now := entry.claim(self.cores)) != top:
                known[run_id] = now
                heapq.heapreplace(heap, now)
            else:
                return top
        return None


@dataclass(slots=True)
class _Shelf:
    """Runs of one priority, engine and set of demands."""

    priority: int
    engine: str
    demands: Demands
    open: dict[str, _Entry] = field(default_factory=dict)
    closed: dict[Reason, int] = field(default_factory=dict)
    lines: dict[int, _Line] = field(default_factory=dict)

    def touch(self, run_id: str) -> None:
        for line in self.lines.values():
            line.touched.add(run_id)

    def line(self, cores: int) -> _Line:
        found = self.lines.get(cores)
        if found is None:
            found = self.lines[cores] = _Line(cores, touched=set(self.open))
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
        claims = [self.line(machine.cores).best(self, passed_over)]
        if last and last.id not in past.failed:
            claims.append(last.claim(machine.cores, again=machine.cores))
        return min((each for each in claims if each), default=None)

    def _best_of(self, ids: Iterable[str], machine: Machine, past: Past) -> Claim | None:
        entries = map(self.open.__getitem__, ids)
        return min(
            (
                entry.claim(machine.cores, machine.cores if entry.id == past.last else 0)
                for entry in entries
            ),
            default=None,
        )


_Tier = dict[str, list[_Shelf]]
"""Shelves of one priority by engine."""
_View = list[_Tier]


class RunIndex:
    """All unfinished runs, arranged for the question "what should this machine play?"."""

    def __init__(self, engine_shares: Mapping[str, float] | None = None) -> None:
        self._entries: dict[str, _Entry] = {}
        self._shelves: dict[tuple[int, str, Demands], _Shelf] = {}
        self._views: dict[Profile, _View] = {}
        self._cores: dict[str, int] = {}
        self._loads = EngineLoads(self._cores, engine_shares or {})

    def put(self, run: Run) -> None:
        """Note a run as it is now; the first time, or after any change."""
        entry = self._entries.get(run.id)
        if entry is None or entry.shelf.priority != run.plan.priority:
            self.remove(run.id)
            self._add(run)
        else:
            self._change(entry, run)

    def remove(self, run_id: str) -> None:
        """Forget a run that is finished; forgetting it twice changes nothing."""
        if entry := self._entries.pop(run_id, None):
            self._cores[entry.shelf.engine] -= entry.cores
            self._leave(entry)

    def choose(self, machine: Machine, past: Past = NO_PAST) -> str | None:
        """The id of the run this machine should play, or None."""
        for tier in self._view(machine.profile):
            for engine in self._by_load(tier, machine.cores):
                claims = [shelf.best(machine, past) for shelf in tier[engine]]
                if best := min((each for each in claims if each), default=None):
                    return best[2]
        return None

    def reasons(self, machine: Machine, past: Past = NO_PAST) -> dict[Reason, int]:
        """For each reason the number of runs it keeps this machine from."""
        counts: dict[Reason, int] = {}
        for shelf in self._shelves.values():
            why = mismatch(shelf.demands, machine.profile)
            for closed, number in shelf.closed.items():
                reason = first(closed, why)
                assert reason
                counts[reason] = counts.get(reason, 0) + number
            for reason, number in _open_reasons(shelf, why, machine, past):
                counts[reason] = counts.get(reason, 0) + number
        return {reason: number for reason, number in counts.items() if number}

    def engine_loads(self) -> EngineLoads:
        return self._loads

    def _add(self, run: Run) -> None:
        shelf = self._shelf(run)
        entry = _Entry(run.id, shelf, run.tally.cores, run.share, standing(run))
        self._entries[run.id] = entry
        self._cores[shelf.engine] = self._cores.get(shelf.engine, 0) + entry.cores
        self._enter(entry)

    def _change(self, entry: _Entry, run: Run) -> None:
        closed, cores, share = standing(run), run.tally.cores, run.share
        smaller = cores < entry.cores or share > entry.share
        self._cores[entry.shelf.engine] += cores - entry.cores
        if closed != entry.closed:
            self._leave(entry)
            entry.cores, entry.share, entry.closed = cores, share, closed
            self._enter(entry)
        else:
            entry.cores, entry.share = cores, share
            if smaller and closed is None:
                entry.shelf.touch(entry.id)

    def _enter(self, entry: _Entry) -> None:
        shelf = entry.shelf
        if entry.closed is None:
            shelf.open[entry.id] = entry
            shelf.touch(entry.id)
        else:
            shelf.closed[entry.closed] = shelf.closed.get(entry.closed, 0) + 1

    def _leave(self, entry: _Entry) -> None:
        if entry.closed is None:
            del entry.shelf.open[entry.id]
        else:
            entry.shelf.closed[entry.closed] -= 1

    def _shelf(self, run: Run) -> _Shelf:
        key = (run.plan.priority, run.plan.engine, run.demands)
        if key not in self._shelves:
            self._drop_empty_shelves()
            self._shelves[key] = _Shelf(*key)
            self._views.clear()
        return self._shelves[key]

    def _drop_empty_shelves(self) -> None:
        self._shelves = {
            key: shelf
            for key, shelf in self._shelves.items()
            if shelf.open or any(shelf.closed.values())
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
        for shelf in self._shelves.values():
            if mismatch(shelf.demands, profile) is None:
                place = shelf.engine not in profile.focus, -shelf.priority
                tiers.setdefault(place, {}).setdefault(shelf.engine, []).append(shelf)
        return [tiers[place] for place in sorted(tiers)]

    def _by_load(self, tier: _Tier, cores: int) -> Iterable[str]:
        if len(tier) == 1:
            return tier
        return sorted(tier, key=lambda engine: (self._loads.load(engine, cores), engine))


def _open_reasons(
    shelf: _Shelf, why: Reason | None, machine: Machine, past: Past
) -> Iterable[tuple[Reason, int]]:
    """Reasons against the open runs of a shelf: its mismatch, and the machine's own past."""
    strange = estranged("", shelf.demands.mirrored, machine, NO_PAST)
    special = (past.seen if strange else past.failed) & shelf.open.keys()
    if general := first(why, strange):
        yield general, len(shelf.open) - len(special)
    for run_id in special:
        own = estranged(run_id, shelf.demands.mirrored, machine, past)
        if reason := first(why, own):
            yield reason, 1
