"""Commands sent to a secondary while the primary is killed under them: each happens once."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import asyncpg
import httpx

from rookery.db.target import Target
from tests.faults.server_campaign import made_account
from tests.fleet.fleet import Account
from tests.rookery_process import RookeryProcess
from tests.submissions import SPRT, body

OWNER, BOSS = "olga", "boris"
EACH = 3
"""Tests that are submitted, approved and stopped at a time."""
ANSWER_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class SentCommand:
    """What was sent, and how it was answered; `about` is the run, or the name of a new one."""

    action: str
    about: str
    status: int
    text: str

    @property
    def is_done(self) -> bool:
        return self.status in (200, 201)


@dataclass(slots=True)
class CommandCampaign:
    """Two servers on one database. The older one is primary; the commands go to the other."""

    database: Target
    folder: Path
    owner: Account
    boss: Account
    client: httpx.AsyncClient
    servers: list[RookeryProcess] = field(default_factory=list)
    sent: list[SentCommand] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    """Runs that are not approved."""
    playing: list[str] = field(default_factory=list)
    kills: int = 0

    async def start(self) -> None:
        """One more server, which stands by unless it is the first."""
        settings = {"ROOKERY_DATABASE_URL": self.database.dsn, "ROOKERY_CROSS_APPROVAL": "1"}
        data = self.folder / f"server-{self.kills}-{len(self.servers)}"
        make = partial(RookeryProcess, ("serve",), data, detect=False, settings=settings)
        server = await asyncio.to_thread(make)
        self.servers.append(server)
        await asyncio.to_thread(server.until, "ready")

    async def strike(self, chance: random.Random) -> list[SentCommand]:
        """Commands of each kind at once, the primary killed at some moment, and their answers."""
        primary, secondary = self.servers
        approved = [self.waiting.pop() for _ in range(min(EACH, len(self.waiting)))]
        stopped = [self.playing.pop() for _ in range(min(EACH, len(self.playing)))]
        names = [f"idea {self.kills} {number}" for number in range(EACH)]
        address = str((await asyncio.to_thread(secondary.until, "ready"))["address"])
        work: list[Coroutine[Any, Any, SentCommand]] = [
            *(self.submit(address, name) for name in names),
            *(self.command(address, "approve_run", run, self.boss) for run in approved),
            *(self.command(address, "stop_run", run, self.owner) for run in stopped),
        ]
        tasks = [asyncio.ensure_future(each) for each in work]
        await asyncio.sleep(chance.uniform(0.0, 0.12))
        primary.process.send_signal(signal.SIGKILL)
        self.kills += 1
        answers = await asyncio.gather(*tasks)
        self.servers.remove(primary)
        await asyncio.to_thread(primary.end)
        self.playing += [each.about for each in answers if each.action == "approve_run"]
        self.sent += answers
        return answers

    async def submit(self, address: str, name: str) -> SentCommand:
        content = body(sprt=SPRT, info=name)
        answer = await self._post(f"{address}/api/v1/runs", content, self.owner)
        if answer.status_code == 201:
            self.waiting.append(answer.json()["id"])
        return SentCommand("new_run", name, answer.status_code, answer.text)

    async def command(self, address: str, action: str, run: str, who: Account) -> SentCommand:
        path = f"{address}/api/v1/runs/{run}/{action.removesuffix('_run')}"
        answer = await self._post(path, {}, who)
        return SentCommand(action, run, answer.status_code, answer.text)

    async def _post(self, path: str, content: object, who: Account) -> httpx.Response:
        headers = {"authorization": f"Bearer {who.token}"}
        return await self.client.post(path, json=content, headers=headers)

    async def find_wrong(self) -> list[str]:
        """What happened twice, what was told and did not happen, and what was refused without a
        word."""
        counted = await self._count()
        wrong = []
        for each in self.sent:
            times = counted[each.action, each.about]
            if times > 1 or (each.is_done and times != 1):
                wrong.append(f"{each} happened {times} times")
            told = "Try again" in each.text or "primary" in each.text
            if not each.is_done and (each.status != 503 or not told):
                wrong.append(f"{each} was refused without saying why")
        return wrong

    async def _count(self) -> Counter[tuple[str, str]]:
        """How often each command is in the log of actions."""
        connection = await asyncpg.connect(**self.database.connect_args)
        try:
            rows = await connection.fetch(
                "SELECT action, coalesce(CASE WHEN action = 'new_run' THEN plan->>'info'"
                " ELSE run_id END, '') AS about FROM actions LEFT JOIN runs ON runs.id = run_id"
            )
        finally:
            await connection.close()
        return Counter((row["action"], row["about"]) for row in rows)


@asynccontextmanager
async def command_campaign(database: Target, folder: Path) -> AsyncIterator[CommandCampaign]:
    settings = {"ROOKERY_DATABASE_URL": database.dsn}
    owner, boss = [
        await asyncio.to_thread(made_account, folder / "accounts", name, settings=settings)
        for name in (OWNER, BOSS)
    ]
    # Reading certificates takes long, and nobody shows one.
    async with httpx.AsyncClient(timeout=ANSWER_SECONDS, verify=False) as client:
        campaign = CommandCampaign(database, folder, owner, boss, client)
        try:
            await campaign.start()
            yield campaign
        finally:
            for server in campaign.servers:
                await asyncio.to_thread(server.end)
