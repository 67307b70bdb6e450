"""Machines without work, which keep waiting at random servers."""

import asyncio
import contextlib
import json
from dataclasses import dataclass

from tests.faults.several_servers import SeveralServers
from tests.fleet.connections import Answer, NoReply
from tests.wire.worker.farm import worker_info

WAIT_SECONDS = 12.0
"""How long each waits: longer than a call waits for a primary, but much shorter than a client waits
for an answer."""
PAUSE_SECONDS = 0.1
TOO_LITTLE_MEMORY = 1
FIRST = 0xF0000000


@dataclass(slots=True)
class WaitingMachines:
    """Waiting machines, and how often one was told that there is no task, or wrongly got one."""

    farm: SeveralServers
    count: int
    told: int = 0
    wrong: int = 0

    async def wait(self) -> None:
        """Lets all machines wait, without end."""
        async with asyncio.TaskGroup() as all_of_them:
            for number in range(self.count):
                all_of_them.create_task(self._wait(f"{FIRST + number:08x}"))

    async def _wait(self, key: str) -> None:
        owner = self.farm.people.owner
        info = worker_info(owner.name, key, max_memory=TOO_LITTLE_MEMORY)
        wish = {"password": owner.password, "worker_info": info, "rookery": {"wait": WAIT_SECONDS}}
        said = json.dumps(wish).encode()
        while True:
            with contextlib.suppress(NoReply):
                self._hear(await self.farm.lines.post("/api/request_task", said))
            await asyncio.sleep(PAUSE_SECONDS)

    def _hear(self, answer: Answer) -> None:
        self.wrong += answer.get("task_waiting") is not False
        # Another text means that the server was busy hashing passwords.
        self.told += str(answer.get("info")).startswith("no task")
