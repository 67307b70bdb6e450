"""Simulates people who stop and purge runs while workers play them, through any of several
servers."""

import asyncio
import json
import time
from dataclasses import dataclass, field

import asyncpg

from tests.faults.people import PlannedCommand
from tests.faults.several_servers import SeveralServers
from tests.fleet.fleet import MANY_GAMES

PLAYED = """
SELECT count(*) FILTER (WHERE crashes > 3) AS crashed, count(*) AS tasks,
    (SELECT finished FROM runs WHERE runs.id = $1) AS finished,
    (SELECT count(*) FROM actions WHERE run_id = $1 AND action = 'purge_run') AS purges
FROM tasks WHERE run = $1
"""
LEAST_CRASHED = 2
LIMIT_SECONDS = 20.0
LOOK_SECONDS = 0.1


@dataclass(slots=True)
class PlayedRuns:
    """Runs of many games on which some workers crash, and what purges have struck out of them."""

    farm: SeveralServers
    looking: "asyncpg.Connection[asyncpg.Record]"
    purged: int = 0
    tasks: int = 0
    games: int = 0
    runs: list[str] = field(default_factory=list)

    async def command(self) -> None:
        """Repeatedly submits a run, waits for play, stops it in the middle and purges it. If it
        continues afterwards, it is stopped again."""
        people = self.farm.people
        while True:
            name = f"crashing idea {time.monotonic_ns()}"
            more = {"sprt": None, "num_games": MANY_GAMES}
            made = await self.farm.send(people.plan_run(name, **more))
            if not made.is_done:
                continue
            run = str(json.loads(made.text)["id"])
            self.farm.fleet.ledger.purged.add(run)
            self.farm.fleet.runs.append(run)
            await self.farm.send(people.plan("approve_run", run))
            await self._wait(run, crashed=LEAST_CRASHED)
            await self.farm.send(people.plan("stop_run", run))
            await self._purge(run, people.plan("purge_run", run))

    async def _purge(self, run: str, planned: PlannedCommand) -> None:
        answer = json.loads((await self.farm.send(planned)).text)
        self.purged += 1
        self.tasks += answer.get("tasks", 0)
        self.games += answer.get("games", 0)
        # The answer may be that the purge is under way.
        if not await self._wait(run, purges=1):
            await self.farm.send(self.farm.people.plan("stop_run", run))

    async def _wait(self, run: str, *, crashed: int = 0, purges: int = 0) -> bool:
        """Waits until `crashed` tasks have crashed and `purges` purges are logged, or a time limit;
        returns whether the run is over."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            row = await self.looking.fetchrow(PLAYED, run)
            assert row is not None
            enough = row["crashed"] >= crashed and row["purges"] >= purges
            if enough or time.monotonic() > deadline:
                return bool(row["finished"])
            await asyncio.sleep(LOOK_SECONDS)
