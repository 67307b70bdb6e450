"""Simulates people who send commands to servers, and checks that each command happened as it was
answered."""

from collections import Counter
from dataclasses import dataclass, field

import asyncpg
import httpx

from rookery.server.db.target import Target
from tests.fleet.fleet import Account
from tests.submissions import SPRT, body

OWNER, BOSS = "olga", "boris"
BY_BOSS = frozenset({"approve_run", "purge_run"})
ACTIONS = (
    "SELECT action, coalesce(CASE WHEN action = 'new_run' THEN plan->>'info'"
    " ELSE run_id END, '') AS about FROM actions LEFT JOIN runs ON runs.id = run_id"
)


@dataclass(frozen=True, slots=True)
class PlannedCommand:
    """A command to send; `about` is the run, or the name of a new one."""

    action: str
    about: str
    path: str
    content: object
    who: Account


@dataclass(frozen=True, slots=True)
class SentCommand:
    """A command that was sent, with its answer."""

    action: str
    about: str
    status: int
    text: str

    @property
    def is_done(self) -> bool:
        return self.status in (200, 201)


@dataclass(slots=True)
class People:
    """People who own and approve tests, with a record of their commands."""

    database: Target
    owner: Account
    boss: Account
    client: httpx.AsyncClient
    sent: list[SentCommand] = field(default_factory=list)
    begun: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each command was sent, answered or not."""

    def plan_run(self, name: str, **more: object) -> PlannedCommand:
        content = body(info=name, **({"sprt": SPRT} | more))
        return PlannedCommand("new_run", name, "/api/v1/runs", content, self.owner)

    def plan(self, action: str, run: str) -> PlannedCommand:
        path = f"/api/v1/runs/{run}/{action.removesuffix('_run')}"
        return PlannedCommand(action, run, path, {}, self.boss if action in BY_BOSS else self.owner)

    async def try_sending(
        self, planned: PlannedCommand, address: str, key: str = ""
    ) -> SentCommand:
        """Sends a command once to one server, with the key of a repeatable command."""
        headers = {"authorization": f"Bearer {planned.who.token}"}
        headers |= {"idempotency-key": key} if key else {}
        answer = await self.client.post(
            f"{address}{planned.path}", json=planned.content, headers=headers
        )
        return SentCommand(planned.action, planned.about, answer.status_code, answer.text)

    async def send(self, planned: PlannedCommand, address: str) -> SentCommand:
        """Sends a command, and records the answer."""
        self.begun[planned.action, planned.about] += 1
        self.sent.append(sent := await self.try_sending(planned, address))
        return sent

    async def find_wrong(self) -> list[str]:
        """Errors: commands that happened more often than they were sent, that were confirmed but
        did not happen, or that were refused without a message."""
        counted = await self._count()
        done = Counter((each.action, each.about) for each in self.sent if each.is_done)
        wrong = []
        for each in self.sent:
            key = each.action, each.about
            if not done[key] <= (times := counted[key]) <= self.begun[key]:
                wrong.append(f"{each} happened {times} times")
            told = "Try again" in each.text or "primary" in each.text
            if not each.is_done and (each.status != 503 or not told):
                wrong.append(f"{each} was refused without saying why")
        return wrong

    async def _count(self) -> Counter[tuple[str, str]]:
        """Counts each command in the log of actions."""
        connection = await asyncpg.connect(**self.database.connect_args)
        try:
            rows = await connection.fetch(ACTIONS)
        finally:
            await connection.close()
        return Counter((row["action"], row["about"]) for row in rows)
