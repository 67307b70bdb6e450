"""Carries out purges in portions; the next primary continues an interrupted one.

The rules are in `rules.purge`. A purged run is over, so only people's commands touch it, and they
wait for the run's lock. The purge of a very large run is not waited for: once its start is
committed, the caller is told that it is under way, and if this primary fails, the next one
continues it.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

from rookery.core.model.actor import Actor
from rookery.core.model.run import Run, RunFault
from rookery.core.model.task import Task
from rookery.server.farm.primary import KeyedLocks, Primary
from rookery.server.farm.published import InThread, inline
from rookery.server.farm.rules import purge, working_set
from rookery.server.farm.rules.answers import Changes, Decision
from rookery.server.farm.rules.purge import (
    Purged,
    PurgedPortion,
    PurgedTotals,
    PurgeSearch,
    PurgeTarget,
    Purging,
)
from rookery.server.farm.terms import PrimaryTerm
from rookery.server.farm.views import FleetViews

PAGE = 100
"""Tasks that are read and examined together."""
PORTION = 200
"""Tasks that are struck out with one commit, which delays all answers until it is done."""
AT_ONCE = 2_000
"""The most tasks of a run for which the caller waits until the purge is done."""


class RunPurges:
    """Carries out purges; struck-out results and the run's new sums are always committed
    together."""

    def __init__(
        self, primary: Primary, views: FleetViews, locks: KeyedLocks, in_thread: InThread = inline
    ) -> None:
        self._primary = primary
        self._views = views
        self._locks = locks
        self._in_thread = in_thread
        self._under_way: set[str] = set()
        """Runs that are purged in the background."""

    async def purge(self, run_id: str, actor: Actor) -> Purged:
        """Remove results that can't be trusted; a run that is undecided afterwards continues. The
        answer may be that the purge is under way."""
        if run_id in self._under_way:
            return Purged(await self._views.known_run(run_id), PurgedTotals(), under_way=True)
        async with self._locks(run_id):
            since = await self._primary.recall_command()
            run = await self._views.known_run(run_id)
            if since.find_done() is not None:
                # The process that carries the purge out logs its outcome.
                return Purged(run, PurgedTotals(), under_way=True)
            purging = working_set.begin_purge(run, actor, self._primary.clock.now())
            if run.tally.tasks <= AT_ONCE:
                return await self._purged(run, purging, since)
            await self._begin(purging)
        self._under_way.add(run_id)
        self._primary.spawn(self.carry_on(purging))
        return Purged(run, purging.toll, under_way=True)

    async def carry_on(self, purging: Purging) -> None:
        """Carry out a purge in the background: one that a run asked for when it was submitted, one
        of a very large run, or one that a crash interrupted."""
        self._under_way.add(purging.run)
        try:
            async with self._locks(purging.run):
                since = self._primary.term()
                run = await self._views.known_run(purging.run)
                try:
                    purge.check(run, self._primary.clock.now())
                except RunFault:
                    await self._drop(run, purging, since)
                else:
                    await self._purged(run, purging, since)
        finally:
            self._under_way.discard(purging.run)

    async def _purged(self, run: Run, purging: Purging, since: PrimaryTerm) -> Purged:
        if purging.culprit is None:
            purging = replace(purging, culprit=await self._found(run, purging))
        if purging.culprit is not None:
            async for tasks in self._bad(run, purging.culprit):
                struck = purge.strike(run, purging, tasks)
                began = self._primary.clock.seconds()
                await self._write(struck, since)
                run, purging = struck.run, struck.purging
                # Leave as much time to the commits of others.
                await asyncio.sleep(self._primary.clock.seconds() - began)
        return await self._conclude(run, purging, since)

    async def _found(self, run: Run, purging: Purging) -> PurgeTarget | None:
        inquiry = PurgeSearch()
        async for tasks in self._pages(run):
            inquiry.look(tasks)
        return await self._in_thread(lambda: inquiry.verdict(run, purging.rule))

    async def _bad(self, run: Run, culprit: PurgeTarget) -> AsyncIterator[list[Task]]:
        """Yield the tasks to strike out, in portions that are committed together."""
        found: list[Task] = []
        async for tasks in self._pages(run):
            found += filter(culprit.takes, tasks)
            while len(found) >= PORTION:
                yield found[:PORTION]
                del found[:PORTION]
        if found:
            yield found

    async def _pages(self, run: Run) -> AsyncIterator[tuple[Task, ...]]:
        for first in range(0, run.tally.tasks, PAGE):
            yield await self._primary.reads.task_page(run.id, first, PAGE)

    async def _begin(self, purging: Purging) -> None:
        await self._primary.answer(lambda _term, _now: Decision(None, Changes(purging=(purging,))))

    async def _write(self, struck: PurgedPortion, since: PrimaryTerm) -> None:
        def written(_: PrimaryTerm, _now: datetime) -> Decision[None]:
            rows = tuple(each.struck for each in struck.bad)
            changes = Changes(
                runs=(struck.run,), tasks=rows, bad=struck.bad, purging=(struck.purging,)
            )
            return Decision(None, changes)

        await self._primary.answer(written, since=since)

    async def _conclude(self, run: Run, purging: Purging, since: PrimaryTerm) -> Purged:
        def concluded(term: PrimaryTerm, now: datetime) -> Decision[Purged]:
            purged, changes = working_set.conclude_purge(term.working, run, purging, now)
            return Decision(purged, changes + Changes(purged=(run.id,)))

        return await self._primary.answer(concluded, since=since)

    async def _drop(self, run: Run, purging: Purging, since: PrimaryTerm) -> None:
        def dropped(_: PrimaryTerm, now: datetime) -> Decision[None]:
            changes = working_set.drop_purge(run, purging, now)
            return Decision(None, changes + Changes(purged=(run.id,)))

        await self._primary.answer(dropped, since=since)
