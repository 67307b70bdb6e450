"""Keeps engines' progress current: what their accepted tests add up to along their main branch."""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.farm.engines import Engines
from rookery.farm.findings import FindingKind, FindingRows
from rookery.farm.read_values import FinishedRunsQuery
from rookery.farm.reads import FleetReads
from rookery.logs import Log
from rookery.model.engine import EngineRecord
from rookery.model.run import Run
from rookery.rules.progress import (
    BranchCommit,
    CommitTest,
    EngineProgress,
    chain_progress,
    summarise_test,
)
from rookery.sources.commits import SourceError
from rookery.sources.grants import GrantedRepositories
from rookery.sources.survey import SourcePlace, Surveyor

RUNS_AT_A_TIME = 100
MOST_RUNS = 20_000


@dataclass(slots=True)
class ProgressKeeping:
    """The job that works progress out. One per process; the primary does it."""

    rows: FindingRows
    surveyor: Surveyor
    engines: Engines
    repositories: GrantedRepositories
    reads: FleetReads
    threads: Threads
    clock: Clock
    log: Log
    is_primary: Callable[[], bool]

    async def load(self, engine: str) -> EngineProgress | None:
        """What is known of an engine, by one query."""
        found = await self.rows.load(FindingKind.PROGRESS, [engine], EngineProgress)
        return found.get(engine)

    @runs(Domain.THREAD, "histories are fetched and Elo is worked out in threads")
    async def keep_current(self) -> None:
        """The job: looks at every engine that has a main branch and finished tests."""
        if not self.is_primary():
            return
        for record in await self.threads.cpu(self._list_engines):
            await self._look_at(record)

    def _list_engines(self) -> list[EngineRecord]:
        """Engines whose main branch lies in a repository."""
        return [each for each in self.engines.catalogue.engines.values() if each.repository]

    async def _look_at(self, record: EngineRecord) -> None:
        tests = [test async for test in self._list_tests(record.name)]
        wanted = [test for test in tests if test.passed or not test.sequential]
        if not wanted:
            return
        granted = self.repositories.list_granted_to_team(record.team)
        place = SourcePlace(record.repository, known=record.repository in granted)
        try:
            listed = await self.threads.io(self.surveyor.list_main, place)
        except SourceError as why:
            self.log.info("main_branch_not_read", engine=record.name, reason=str(why))
            return
        branch = [
            BranchCommit(each.sha, number, each.time, each.subject)
            for number, each in enumerate(listed)
        ]
        progress = await self.threads.cpu(chain_progress, branch, tests)
        await self.rows.save(FindingKind.PROGRESS, record.name, progress, self.clock.now())

    async def _list_tests(self, engine: str) -> AsyncIterator[CommitTest]:
        for page in range(1, MOST_RUNS // RUNS_AT_A_TIME + 1):
            asked = FinishedRunsQuery(page=page, page_size=RUNS_AT_A_TIME, engine=engine)
            found = await self.reads.finished(asked)
            for test in await self.threads.cpu(_summarise_all, found, engine):
                yield test
            if len(found) < RUNS_AT_A_TIME:
                return


def _summarise_all(runs: Sequence[Run], engine: str) -> list[CommitTest]:
    told = (summarise_test(run, engine) for run in runs)
    return [test for test in told if test is not None]
