"""Reads the sources of each run once, so that its approver, or an approver who submits it, gets the
facts about it."""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.engine import NET_FILES, EngineRecord
from rookery.core.model.plan import Side
from rookery.core.model.run import Run
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.engines import Engines
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.farm.findings import FindingKind, FindingRows
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.rules.review import NO_FACTS, ReviewFacts, SourceFacts, is_built
from rookery.server.files.access import FileAccess
from rookery.server.files.engine_files import NetStore
from rookery.server.logs import Log
from rookery.server.sources.commits import SourceError
from rookery.server.sources.survey import NetPattern, SourcePlace, Surveyor

AGAIN_SECONDS = 1800.0
"""The interval after which a run that still waits for approval is reviewed again, since a missing
net may have been uploaded."""
RUNS_AT_A_TIME = 5
SCRATCH_SECONDS = 3600.0
"""The age at which scratch folders are removed; no review takes this long."""


@dataclass(slots=True)
class Reviews:
    """The reviews of unfinished runs. One per process; the primary gathers them."""

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
    """Whether workers get nets from elsewhere."""
    _looked: dict[str, float] = field(default_factory=dict)

    async def load(self, run_ids: Collection[str]) -> Mapping[str, ReviewFacts]:
        """Return the stored facts about these runs, in one query."""
        return await self.rows.load(FindingKind.REVIEW, run_ids, ReviewFacts)

    async def count_earlier(self, owner: str, before: str = "g") -> int:
        """Return the number of a user's runs before a given one, counted only as far as needed to
        know whether there are any."""
        active = await self.fleet.views.active()
        own = sum(run.plan.owner == owner and run.id < before for run in active)
        asked = FinishedRunsQuery(page_size=1, owner=owner)
        return own or len(await self.fleet.primary.reads.finished(asked))

    @runs(Domain.THREAD, "sources are fetched in threads, rows are awaited")
    async def look_at_unfinished(self) -> None:
        """Do the periodic job: review runs, a few at a time, those that wait for approval first."""
        if not self.is_primary():
            return
        oldest = self.clock.now().timestamp() - SCRATCH_SECONDS
        await self.threads.io(self.surveyor.forget_scratch, oldest)
        due = await self._list_due(await self.fleet.views.active())
        for run in due[:RUNS_AT_A_TIME]:
            self._looked[run.id] = self.clock.seconds()
            found = await self.gather(run)
            await self.rows.save(FindingKind.REVIEW, run.id, found, self.clock.now())
            await self.fleet.commands.notify_changed(run.id)

    async def _list_due(self, active: Sequence[Run]) -> list[Run]:
        """Return the runs to review: first those that wait for approval, then the others from the
        newest on. A run that is already approved is reviewed once: it was approved before the job
        reached it."""
        now, ids = self.clock.seconds(), {run.id for run in active}
        self._looked = {run: when for run, when in self._looked.items() if run in ids}
        due = [
            run for run in active if now - self._looked.get(run.id, -AGAIN_SECONDS) >= AGAIN_SECONDS
        ]
        approved = {run.id: run for run in due if run.status.approved}
        known = await self.load(approved) if approved else {}
        self._looked |= dict.fromkeys(known, now)
        waiting = [run for run in due if run.id not in approved]
        return [
            *waiting,
            *(approved[each] for each in sorted(approved.keys() - known, reverse=True)),
        ]

    async def gather(self, run: Run) -> ReviewFacts:
        """Gather all facts about a run that are not in the run itself. Commits do not change, so
        facts about sources that were read before are kept if they can't be read now."""
        found = await self._read_sources(run)
        if found.trouble:
            before = (await self.load([run.id])).get(run.id, NO_FACTS).sources
            found = found if before is None or before.trouble else before
        return ReviewFacts(
            earlier_runs=await self.count_earlier(run.plan.owner, run.id),
            sources=await self._add_nets(run, found),
        )

    async def _read_sources(self, run: Run) -> SourceFacts:
        record = self.engines.catalogue.record(run.plan.engine)
        granted = self.repositories.list_granted(run.plan.owner)
        places = [
            _place(side, granted)
            for side in run.plan.sides
            if is_built(side, self.engines.catalogue.record(side.engine))
        ]
        if len(places) < 2:
            return SourceFacts()
        known = record.repository in granted
        main = SourcePlace(record.repository, known=known, branch=record.branch)
        try:
            return await self.threads.io(
                self.surveyor.compare, main, places[0], places[1], make_net_search(record)
            )
        except SourceError as why:
            self.log.info("sources_not_read", run=run.id, reason=str(why))
            return SourceFacts(trouble=str(why))

    async def _add_nets(self, run: Run, facts: SourceFacts) -> SourceFacts:
        """Add the nets that are missing here, private, or not in a side's own list. The owner of
        the run reads this too, so a private net of another team counts as missing."""
        sides = run.plan.sides
        listed = [net for side in sides for net in side.nets]
        named = dict.fromkeys((*facts.all_nets, *listed))
        unlisted = [
            name
            for side, nets in zip(sides, (facts.nets, facts.base_nets), strict=True)
            for name in nets
            if side.nets and name not in side.nets
        ]
        missing = [name async for name in self._find_missing(named, run.plan.owner)]
        private = [
            name
            for name in named
            if self.file_access.is_private(name) and self.file_access.may_see(run.plan.owner, name)
        ]
        return replace(
            facts,
            missing_nets=tuple(missing),
            unlisted_nets=tuple(dict.fromkeys(unlisted)),
            private_nets=tuple(private),
            nets_checked=not self.nets_elsewhere,
        )

    async def _find_missing(self, names: Collection[str], owner: str) -> AsyncIterator[str]:
        """Yield the missing nets; a net that the owner may not see counts as missing."""
        for name in () if self.nets_elsewhere else names:
            kept = await self.nets.rows.get(name)
            if kept is None or not self.file_access.may_see(owner, name):
                yield name


def _place(side: Side, granted: frozenset[str]) -> SourcePlace:
    return SourcePlace(side.repository, side.commit, known=side.repository in granted)


def make_net_search(record: EngineRecord) -> NetPattern:
    """Return the pattern of nets in sources; empty for an engine that is not built with nets."""
    if record.nets.use != "embedded":
        return NetPattern()
    return NetPattern(record.nets.pattern, record.nets.files or NET_FILES)
