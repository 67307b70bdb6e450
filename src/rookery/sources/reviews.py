"""Looks at waiting runs once, so that whoever approves them finds what they should know."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.farm.engines import Engines
from rookery.farm.findings import FindingKind, FindingRows
from rookery.farm.fleet import Fleet
from rookery.farm.read_values import FinishedRunsQuery
from rookery.files.access import FileAccess
from rookery.files.engine_files import NetStore
from rookery.logs import Log
from rookery.model.engine import BUNDLED, EngineRecord
from rookery.model.plan import Side
from rookery.model.run import Run
from rookery.rules.review import ReviewFacts, SourceFacts
from rookery.sources.commits import SourceError
from rookery.sources.grants import GrantedRepositories
from rookery.sources.survey import SourcePlace, Surveyor

AGAIN_SECONDS = 1800.0
"""After which a run that still waits is looked at again: a net may have come."""
RUNS_AT_A_TIME = 5
SCRATCH_SECONDS = 3600.0
"""Longer than any look at sources takes."""
UNBUILT = ("installed", BUNDLED)


@dataclass(slots=True)
class Reviews:
    """The facts about waiting runs. One per process; the primary gathers them."""

    rows: FindingRows
    surveyor: Surveyor
    engines: Engines
    repositories: GrantedRepositories
    nets: NetStore
    file_access: FileAccess
    fleet: Fleet
    threads: Threads
    clock: Clock
    log: Log
    is_primary: Callable[[], bool]
    nets_elsewhere: bool = False
    """Whether workers get nets from another place."""
    _looked: dict[str, float] = field(default_factory=dict)

    async def load(self, run_ids: Collection[str]) -> Mapping[str, ReviewFacts]:
        """What is known of these runs, by one query."""
        return await self.rows.load(FindingKind.REVIEW, run_ids, ReviewFacts)

    async def count_earlier(self, owner: str, before: str = "g") -> int:
        """The runs that somebody submitted before one, as far as it matters whether there are
        any."""
        active = await self.fleet.views.active()
        own = sum(run.plan.owner == owner and run.id < before for run in active)
        asked = FinishedRunsQuery(page_size=1, owner=owner)
        return own or len(await self.fleet.primary.reads.finished(asked))

    @runs(Domain.THREAD, "sources are fetched in threads, rows are awaited")
    async def look_at_waiting(self) -> None:
        """The job: looks at runs that nobody has approved yet, a few at a time."""
        if not self.is_primary():
            return
        oldest = self.clock.now().timestamp() - SCRATCH_SECONDS
        await self.threads.io(self.surveyor.forget_scratch, oldest)
        waiting = [run for run in await self.fleet.views.active() if not run.status.approved]
        now, ids = self.clock.seconds(), {run.id for run in waiting}
        self._looked = {run: when for run, when in self._looked.items() if run in ids}
        due = [
            run
            for run in waiting
            if now - self._looked.get(run.id, -AGAIN_SECONDS) >= AGAIN_SECONDS
        ]
        for run in due[:RUNS_AT_A_TIME]:
            self._looked[run.id] = now
            await self.rows.save(
                FindingKind.REVIEW, run.id, await self.gather(run), self.clock.now()
            )

    async def gather(self, run: Run) -> ReviewFacts:
        """Everything about a run that can't be seen in itself."""
        return ReviewFacts(
            earlier_runs=await self.count_earlier(run.plan.owner, run.id),
            sources=await self._add_nets(run, await self._read_sources(run)),
        )

    async def _read_sources(self, run: Run) -> SourceFacts:
        record = self.engines.catalogue.record(run.plan.engine)
        granted = self.repositories.list_granted(run.plan.owner)
        places = [_place(side, granted) for side in run.plan.sides[:2] if self._is_built(side)]
        if len(places) < 2:
            return SourceFacts()
        main = SourcePlace(record.repository, known=record.repository in granted)
        try:
            return await self.threads.io(
                self.surveyor.compare, main, places[0], places[1], _net_pattern(record)
            )
        except SourceError as why:
            self.log.info("sources_not_read", run=run.id, reason=str(why))
            return SourceFacts(trouble=str(why))

    def _is_built(self, side: Side) -> bool:
        recipe = self.engines.catalogue.record(side.engine).needed_recipe
        return bool(side.repository) and not side.binary and recipe not in UNBUILT

    async def _add_nets(self, run: Run, facts: SourceFacts) -> SourceFacts:
        """Which of the nets are not here, or not for everybody."""
        named = dict.fromkeys((*facts.nets, *(net for side in run.plan.sides for net in side.nets)))
        missing = [name async for name in self._find_missing(named, run.plan.owner)]
        private = [name for name in named if self.file_access.is_private(name)]
        return replace(facts, missing_nets=tuple(missing), private_nets=tuple(private))

    async def _find_missing(self, names: Collection[str], owner: str) -> AsyncIterator[str]:
        for name in () if self.nets_elsewhere else names:
            kept = await self.nets.rows.get(name)
            if kept is None or not self.file_access.may_see(owner, name):
                yield name


def _place(side: Side, granted: frozenset[str]) -> SourcePlace:
    return SourcePlace(side.repository, side.commit, known=side.repository in granted)


def _net_pattern(record: EngineRecord) -> str:
    """By which nets are known in sources; empty for an engine that is not built with them."""
    return record.nets.pattern if record.nets.use == "embedded" else ""
