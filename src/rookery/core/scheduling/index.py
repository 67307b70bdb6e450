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

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rookery.core.demands import Demands
from rookery.core.machine import Machine, Profile
from rookery.core.run import Run
from rookery.core.scheduling.eligibility import NO_PAST, Past, Reason, mismatch, standing
from rookery.core.scheduling.ranking import EngineLoads
from rookery.core.scheduling.shelf import Entry, Shelf

MOST_VIEWS = 10_000
"""Profiles remembered at a time; beyond it they are worked out again."""


_Tier = dict[str, list[Shelf]]
"""Shelves of one priority by engine."""


class _View(NamedTuple):
    """The index as machines of one profile see it."""

    tiers: list[_Tier]
    shelves: list[tuple[Shelf, Reason | None]]
    """All shelves, each with the reason that puts it out of the question."""


class RunIndex:
    """All unfinished runs, arranged for the question "what should this machine play?"."""

    def __init__(self, engine_shares: Mapping[str, float] | None = None) -> None:
        self._entries: dict[str, Entry] = {}
        self._shelves: dict[tuple[int, str, Demands], Shelf] = {}
        self._views: dict[Profile, _View] = {}
        self._cores: dict[str, int] = {}
        self.opened = 0
        """How often a run became open for machines."""
        self._loads = EngineLoads(self._cores, {} if engine_shares is None else engine_shares)

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
        for tier in self._view(machine.profile).tiers:
            for engine in self._by_load(tier, machine.cores):
                best = None
                for shelf in tier[engine]:
                    found = shelf.best(machine, past)
                    if found and (best is None or found < best):
                        best = found
                if best:
                    return best[2]
        return None

    def reasons(self, machine: Machine, past: Past = NO_PAST) -> dict[Reason, int]:
        """For each reason the number of runs it keeps this machine from."""
        counts: dict[Reason, int] = {}
        for shelf, why in self._view(machine.profile).shelves:
            for reason, number in shelf.reasons(why, machine, past):
                counts[reason] = counts.get(reason, 0) + number
        return {reason: number for reason, number in counts.items() if number}

    def engine_loads(self) -> EngineLoads:
        return self._loads

    def _add(self, run: Run) -> None:
        shelf = self._shelf(run)
        entry = Entry(run.id, shelf, run.tally.cores, run.share, standing(run))
        self._entries[run.id] = entry
        self._cores[shelf.engine] = self._cores.get(shelf.engine, 0) + entry.cores
        self._enter(entry)

    def _change(self, entry: Entry, run: Run) -> None:
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

    def _enter(self, entry: Entry) -> None:
        shelf = entry.shelf
        if entry.closed is None:
            shelf.open[entry.id] = entry
            self.opened += 1
            shelf.touch(entry.id)
        else:
            shelf.closed.setdefault(entry.closed, set()).add(entry.id)

    def _leave(self, entry: Entry) -> None:
        if entry.closed is None:
            del entry.shelf.open[entry.id]
        else:
            entry.shelf.closed[entry.closed].remove(entry.id)

    def _shelf(self, run: Run) -> Shelf:
        key = (run.plan.priority, run.plan.engine, run.demands)
        if key not in self._shelves:
            self._drop_empty_shelves()
            self._shelves[key] = Shelf(*key)
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
        shelves = [(shelf, mismatch(shelf.demands, profile)) for shelf in self._shelves.values()]
        for shelf, why in shelves:
            if why is None:
                place = shelf.engine not in profile.focus, -shelf.priority
                tiers.setdefault(place, {}).setdefault(shelf.engine, []).append(shelf)
        return _View([tiers[place] for place in sorted(tiers)], shelves)

    def _by_load(self, tier: _Tier, cores: int) -> Iterable[str]:
        if len(tier) == 1:
            return tier
        return sorted(tier, key=lambda engine: (self._loads.load(engine, cores), engine))
