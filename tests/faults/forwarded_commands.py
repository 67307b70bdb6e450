"""Sends commands to a secondary while the primary is killed: each must happen exactly once."""

import asyncio
import json
import random
import signal
from dataclasses import dataclass, field

from tests.faults.people import SentCommand
from tests.faults.several_servers import SeveralServers
from tests.fleet.fleet import MANY_GAMES

EACH = 3
"""The number of tests that are submitted, approved, stopped and purged at a time."""


@dataclass(slots=True)
class ForwardedCommands:
    """Two servers, one of them primary; the commands go to the other."""

    farm: SeveralServers
    waiting: list[str] = field(default_factory=list)
    """Runs that wait for approval."""
    playing: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    kills: int = 0
    struck: int = 0
    """The number of tasks that purges have struck out."""

    async def strike(self, chance: random.Random) -> list[SentCommand]:
        """Sends commands of each kind at once and kills the primary at some moment; returns the
        answers."""
        primary, _ = await self.farm.find_primary()
        secondary = next(each for each in self.farm.members if each is not primary)
        people = self.farm.people
        names = [f"idea {self.kills} {number}" for number in range(EACH)]
        planned = [
            *(people.plan_run(name, sprt=None, num_games=MANY_GAMES) for name in names),
            *(people.plan("approve_run", run) for run in _take(self.waiting)),
            *(people.plan("purge_run", run) for run in _take(self.stopped)),
            *(people.plan("stop_run", run) for run in _take(self.playing)),
        ]
        tasks = [asyncio.create_task(people.send(each, secondary.address)) for each in planned]
        await asyncio.sleep(chance.uniform(0.0, 0.12))
        primary.process.process.send_signal(signal.SIGKILL)
        self.kills += 1
        answers = await asyncio.gather(*tasks)
        await self.farm.remove(primary)
        self._remember(answers)
        return answers

    def _remember(self, answers: list[SentCommand]) -> None:
        """Notes which commands are possible next, and tells the fleet which runs are purged."""
        done = [each for each in answers if each.is_done]
        made = [json.loads(each.text)["id"] for each in done if each.action == "new_run"]
        self.farm.fleet.runs += made
        self.farm.fleet.ledger.purged.update(made)
        self.waiting += made
        self.playing += [each.about for each in answers if each.action == "approve_run"]
        self.stopped += [each.about for each in done if each.action == "stop_run"]
        purges = [json.loads(each.text) for each in done if each.action == "purge_run"]
        self.struck += sum(each["tasks"] for each in purges)


def _take(runs: list[str]) -> list[str]:
    return [runs.pop() for _ in range(min(EACH, len(runs)))]
