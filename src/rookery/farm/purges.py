"""Purges, carried out portion by portion, and carried on by whoever is primary next.

See `rules.purge` for the rules. The run is over, so that only people's commands touch it, and these
wait for their turn. Nobody waits for the purge of a very large run: once it is written down that it
has begun, it is answered that it is under way, and the next primary would carry it on.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime

from rookery.farm.primary import KeyedLocks, Primary
from rookery.farm.published import InThread, inline
from rookery.farm.terms import PrimaryTerm
from rookery.farm.views import FleetViews
from rookery.model.run import Run, RunFault
from rookery.model.task import Task
from rookery.rules import purge, working_set
from rookery.rules.answers import Changes, Decision
from rookery.rules.lifecycle import Actor
from rookery.rules.purge import Purged, PurgedTotals, PurgeSearch, PurgeTarget, Purging, Struck

PAGE = 100
"""Tasks that are read and looked at in one go."""
PORTION = 200
"""Tasks that are struck out with one commit: everybody's answers wait for that one."""
AT_ONCE = 2_000
"""Tasks of a run up to which its purge is waited for."""


class RunPurges:
    """What is struck out and what is left of the run are always committed together."""

    def __init__(
        self, primary: Primary, views: FleetViews, locks: KeyedLocks, in_thread: InThread = inline
    ) -> None:
        self._primary = primary
        self._views = views
        self._locks = locks
        self._in_thread = in_thread
        self._under_way: set[str] = set()
        """Runs whose purge nobody waits for."""

    async def purge(self, run_id: str, actor: Actor) -> Purged:
        """Take out results that can't be trusted; the run plays on if it is undecided then. The
        answer may be that this is under way."""
        if run_id in self._under_way:
            return Purged(await self._views.known_run(run_id), PurgedTotals(), under_way=True)
        async with self._locks(run_id):
            since = await self._primary.recall_command()
            run = await self._views.known_run(run_id)
            if since.find_done() is not None:
                # Whoever carried it out, or carries it on, writes down what came of it.
                return Purged(run, PurgedTotals(), under_way=True)
            purging = working_set.begin_purge(run, actor, self._primary.clock.now())
            if run.tally.tasks <= AT_ONCE:
                return await self._purged(run, purging, since)
            await self._begin(purging)
        self._under_way.add(run_id)
        self._primary.spawn(self.carry_on(purging))
        return Purged(run, purging.toll, under_way=True)

    async def carry_on(self, purging: Purging) -> None:
        """With the purge that a run asked for when it was submitted, with one that nobody waits
        for, or with one that a crash interrupted."""
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
                # As long again belongs to those who wait for their own commits.
                await asyncio.sleep(self._primary.clock.seconds() - began)
        return await self._conclude(run, purging, since)

    async def _found(self, run: Run, purging: Purging) -> PurgeTarget | None:
        inquiry = PurgeSearch()
        async for tasks in self._pages(run):
            inquiry.look(tasks)
        return await self._in_thread(lambda: inquiry.verdict(run, purging.rule))

    async def _bad(self, run: Run, culprit: PurgeTarget) -> AsyncIterator[list[Task]]:
        """The tasks that go, as many at a time as are struck out together."""
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

    async def _write(self, struck: Struck, since: PrimaryTerm) -> None:
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
