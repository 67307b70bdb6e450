"""Keeps engines' progress current: the sum of their accepted tests along their main branch."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from rookery.core.boundary.offload import Threads
from rookery.core.clock import Clock
from rookery.core.model.engine import EngineRecord
from rookery.core.model.run import Run
from rookery.server.boundary.domains import Domain, runs
from rookery.server.engines.engines import Engines
from rookery.server.engines.grants import GrantedRepositories
from rookery.server.farm.findings import FindingKind, FindingRows
from rookery.server.farm.read_values import FinishedRunsQuery
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.progress import (
    BranchCommit,
    CommitTest,
    EngineProgress,
    chain_progress,
    list_unplaced,
    summarise_test,
)
from rookery.server.farm.rules.review import ReviewFacts, SourceFacts
from rookery.server.logs import Log
from rookery.server.sources.commits import SourceError
from rookery.server.sources.survey import SourcePlace, Surveyor

RUNS_AT_A_TIME = 100
MOST_RUNS = 20_000
TREES_AT_A_TIME = 10


@dataclass(slots=True)
class ProgressKeeping:
    """The job that computes progress. One per process; runs in the primary."""

    rows: FindingRows
    surveyor: Surveyor
    engines: Engines
    repositories: GrantedRepositories
    reads: FleetReads
    threads: Threads
    clock: Clock
    log: Log
    is_primary: Callable[[], bool]
    _asked_trees: set[str] = field(default_factory=set)
    """Runs whose tree was looked up since the start of this process, found or not."""

    async def load(self, engine: str) -> EngineProgress | None:
        """Return the stored progress of an engine."""
        found = await self.rows.load(FindingKind.PROGRESS, [engine], EngineProgress)
        return found.get(engine)

    @runs(Domain.THREAD, "histories are fetched and Elo is worked out in threads")
    async def keep_current(self) -> None:
        """Do the periodic job: read the main branch of every engine that has one."""
        if not self.is_primary():
            return
        for record in await self.threads.cpu(self._list_engines):
            await self._look_at(record)

    def _list_engines(self) -> list[EngineRecord]:
        """Engines whose main branch is in a repository."""
        return [each for each in self.engines.catalogue.engines.values() if each.repository]

    async def _look_at(self, record: EngineRecord) -> None:
        granted = self.repositories.list_granted_to_team(record.team)
        known = record.repository in granted
        place = SourcePlace(record.repository, known=known, branch=record.branch)
        try:
            listed = await self.threads.io(self.surveyor.list_main, place)
        except SourceError as why:
            self.log.info("main_branch_not_read", engine=record.name, reason=str(why))
            return
        branch = [
            BranchCommit(each.sha, number, each.time, each.subject, each.tree, each.runs)
            for number, each in enumerate(listed)
        ]
        tests = [test async for test in self._list_tests(record.name)]
        tests = await self._add_trees(branch, tests, granted)
        progress = await self.threads.cpu(chain_progress, branch, tests)
        await self.rows.save(FindingKind.PROGRESS, record.name, progress, self.clock.now())

    async def _add_trees(
        self, branch: Sequence[BranchCommit], tests: Sequence[CommitTest], granted: frozenset[str]
    ) -> list[CommitTest]:
        """Return the tests, with trees added for those that passed but whose commit is not in the
        branch. Most trees were stored when the run was reviewed; a few others are looked up each
        time."""
        unplaced = await self.threads.cpu(list_unplaced, branch, tests)
        wanted = [test.run for test in unplaced]
        facts = await self.rows.load(FindingKind.REVIEW, wanted, ReviewFacts) if wanted else {}
        trees = {run: each.sources.tree for run, each in facts.items() if each.sources}
        new = [
            test
            for test in unplaced
            if not trees.get(test.run) and test.run not in self._asked_trees
        ]
        for test in new[:TREES_AT_A_TIME]:
            trees[test.run] = await self._find_tree(test, facts, granted)
        return [replace(test, tree=trees.get(test.run, "")) for test in tests]

    async def _find_tree(
        self, test: CommitTest, facts: Mapping[str, ReviewFacts], granted: frozenset[str]
    ) -> str:
        """Find and store the tree of the commit that a run tested; empty if it can't be found."""
        self._asked_trees.add(test.run)
        place = SourcePlace(test.repository, test.new, known=test.repository in granted)
        try:
            tree = await self.threads.io(self.surveyor.find_tree, place)
        except SourceError as why:
            self.log.info("tree_not_read", run=test.run, reason=str(why))
            return ""
        known = facts.get(test.run, ReviewFacts())
        sources = replace(known.sources or SourceFacts(), tree=tree)
        found = replace(known, sources=sources)
        await self.rows.save(FindingKind.REVIEW, test.run, found, self.clock.now())
        return tree

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
