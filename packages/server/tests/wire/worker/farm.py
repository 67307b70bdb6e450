"""A served farm in memory, with runs to play and workers that send official bodies."""

import gzip
import json
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from rookery.core.model.engine import STANDARD
from rookery.core.model.kinds import Kind
from rookery.core.model.plan import Plan
from rookery.core.model.run import Run, create
from rookery.core.model.task import Results
from rookery.server.farm.rules.eligibility import Policy
from rookery.server.settings import Settings
from tests.fakes import HandClock
from tests.makers import BOSS, make_plan, run_id, sprt
from tests.twins.farm import MemoryStore
from tests.twins.people import MemoryTokens, MemoryUsers
from tests.twins.sites import (
    PASSWORD,
    SETTINGS,
    SIMULATED,
    MemorySite,
    OpenSite,
    make_site,
    make_user,
    open_site,
)

Answer = dict[str, Any]

PATHS = (
    "request_version",
    "request_task",
    "update_task",
    "beat",
    "request_spsa",
    "failed_task",
    "stop_run",
    "upload_pgn",
    "worker_log",
)
GAMES = b64encode(gzip.compress(b'[Event "x"]\n\n1-0\n')).decode()


def worker_info(name: str = "wanda", key: str = "1a2b3c4d", **fields: object) -> Answer:
    """What the official worker of version 325 sends of itself."""
    info: Answer = {
        "uname": "Linux 6.8.0",
        "architecture": ["64bit", "ELF"],
        "concurrency": 8,
        "max_memory": 16000,
        "min_threads": 1,
        "username": name,
        "version": 325,
        "python_version": [3, 12, 3],
        "gcc_version": [13, 2, 0],
        "compiler": "g++",
        "unique_key": f"{key}-0e3f-4a55-9c1d-6b7f8e9a0b1c",
        "modified": False,
        "worker_arch": "x86-64-bmi2",
        "ARCH": "?",
        "nps": 0.0,
        "near_github_api_limit": False,
    }
    return info | fields


def stats(results: Results) -> Answer:
    return {
        "wins": results.wins,
        "losses": results.losses,
        "draws": results.draws,
        "crashes": results.crashes,
        "time_losses": results.time_losses,
        "pentanomial": list(results.pentanomial),
    }


@dataclass(slots=True)
class Worker:
    """One process of a worker; it remembers its task."""

    browser: httpx.AsyncClient
    info: Answer
    password: str = PASSWORD
    ids: Answer = field(default_factory=dict)

    def body(self, **more: object) -> Answer:
        return {"password": self.password, "worker_info": self.info} | more

    async def send(self, path: str, body: object) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return await self.browser.post(f"/api/{path}", content=content)

    async def call(self, path: str, **more: object) -> Answer:
        """A call that is answered with an object that has a duration, as all must be."""
        return understood(await self.send(path, self.body(**self.ids, **more)))

    async def version(self) -> Answer:
        caller = {"username": self.info["username"]}
        body = {"password": self.password, "worker_info": caller}
        return understood(await self.send("request_version", body))

    async def request_task(self) -> Answer:
        self.ids = {}
        answer = await self.call("request_task")
        if "run" in answer:
            self.ids = {"run_id": answer["run"]["_id"], "task_id": answer["task_id"]}
        return answer

    async def update(self, results: Results, **more: object) -> Answer:
        return await self.call("update_task", stats=stats(results), **more)

    async def beat(self) -> Answer:
        return await self.call("beat")


@dataclass(frozen=True, slots=True)
class ServedFarm:
    """The app as a browser reaches it, its parts and its clock."""

    site: OpenSite
    parts: MemorySite
    clock: HandClock

    def worker(self, name: str = "wanda", key: str = "1a2b3c4d", **fields: object) -> Worker:
        return Worker(self.site.browser, worker_info(name, key, **fields))

    async def submit(
        self, name: str = "a", kind: Kind | None = None, plan: Plan | None = None
    ) -> Run:
        """An approved run, by default a sequential test with batches of two games."""
        run = create(run_id(name), plan or make_plan(), kind or sprt(), STANDARD, self.clock.now())
        await self.parts.fleet.commands.submit(run, approver=BOSS.name)
        return run

    async def change_user(self, **fields: object) -> None:
        users = self.site.parts.users
        user = await users.by_name("wanda")
        assert user is not None
        await users.save(replace(user, **fields))  # type: ignore[arg-type]  # as the test names them

    def stored(self, name: str = "a") -> Run:
        return self.parts.store.rows.runs[run_id(name)]


@asynccontextmanager
async def open_farm(
    users: MemoryUsers | None = None,
    clock: HandClock | None = None,
    store: MemoryStore | None = None,
    policy: Policy = SIMULATED,
    tokens: MemoryTokens | None = None,
    settings: Settings = SETTINGS,
) -> AsyncIterator[ServedFarm]:
    """With a user named wanda who may have many machines."""
    users, clock = users or MemoryUsers(), clock or HandClock()
    site = make_site(settings, users=users, clock=clock, store=store, policy=policy, tokens=tokens)
    if await users.by_name("wanda") is None:
        await users.save(replace(await make_user(site, "wanda"), machine_limit=100))
    async with open_site(site) as opened:
        yield ServedFarm(opened, site, clock)


def understood(answer: httpx.Response) -> Answer:
    """The object, if a worker would survive it."""
    assert answer.headers["content-type"] == "application/json", answer.text
    said: Answer = answer.json()
    assert isinstance(said["duration"], float)
    assert holds_no_null(said)
    return said


def is_retryable(answer: httpx.Response) -> bool:
    """Whether a worker takes it for a lost connection and tries again."""
    return not answer.headers["content-type"].startswith("application/json")


def holds_no_null(value: object) -> bool:
    if isinstance(value, dict):
        return all(holds_no_null(part) for part in value.values())
    if isinstance(value, list):
        return all(holds_no_null(part) for part in value)
    return value is not None
