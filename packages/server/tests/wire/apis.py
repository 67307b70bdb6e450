"""The JSON APIs on in-memory twins, with people who each hold a token."""

import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from starlette.applications import Starlette

from rookery.core.boundary.offload import Gate
from rookery.core.model.kinds import Report
from rookery.core.model.machine import Machine
from rookery.core.model.task import Results, Task
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.rules.answers import Grant, HeldTask
from rookery.server.identity.users import ORDINARY, Scope, User, mint
from rookery.server.sources.commits import Archiver, Archives, Commits, Finder
from tests.fakes import HandClock, RecordedLog
from tests.makers import make_machine
from tests.people import BORIS, OLGA, SVEN
from tests.submissions import SPRT, body
from tests.twins.people import MemoryTokens, MemoryUsers
from tests.twins.sites import SETTINGS, MemorySite, make_site, open_site

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Api:
    """A started app as scripts see it."""

    visitor: httpx.AsyncClient
    site: MemorySite
    clock: HandClock
    app: Starlette
    log: RecordedLog

    @property
    def tokens(self) -> MemoryTokens:
        return self.site.tokens

    @property
    def fleet(self) -> Fleet:
        return self.site.fleet

    async def token(self, user: User, scopes: frozenset[Scope] = ORDINARY) -> str:
        minted = mint(user.name, scopes, now=self.clock.now(), chance=secrets.token_bytes)
        await self.tokens.add(minted.token)
        return minted.secret

    async def headers(self, user: User) -> Mapping[str, str]:
        return {"authorization": f"Bearer {await self.token(user)}"}

    async def post(self, path: str, user: User, content: Json | None = None) -> httpx.Response:
        return await self.visitor.post(
            path, json=content or {}, headers=dict(await self.headers(user))
        )

    async def get(self, path: str, user: User | None = None) -> httpx.Response:
        headers = dict(await self.headers(user)) if user else {}
        return await self.visitor.get(path, headers=headers)

    async def submitted(self, user: User = BORIS, **changes: object) -> str:
        """The id of a new run."""
        answer = await self.post("/api/v1/runs", user, body(**{"sprt": SPRT, **changes}))
        assert answer.status_code == 201, answer.text
        return str(json.loads(answer.content)["id"])

    async def granted(self, machine: Machine | None = None) -> Task:
        answer = await self.fleet.request_task(machine or make_machine(), limit=100)
        assert isinstance(answer, Grant), answer
        return answer.task

    async def played(self, task: Task, results: Results) -> None:
        call = HeldTask(task.run, task.id, task.machine)
        await self.fleet.update_task(call, Report(results))


@asynccontextmanager
async def open_api(
    *,
    files: Path | None = None,
    change: Callable[[MemorySite], None] = lambda site: None,
    finder: Finder | None = None,
    archiver: Archiver | None = None,
    **settings: object,
) -> AsyncIterator[Api]:
    """`settings` are those in which the site differs from the others of the tests."""
    users, clock = MemoryUsers(OLGA, BORIS, SVEN), HandClock()
    wanted = replace(SETTINGS, **settings)  # type: ignore[arg-type]  # as the test names them
    site = make_site(wanted, clock=clock, users=users, files=files)
    change(site)
    if finder is not None:
        site.commits = Commits(finder, site.threads, Gate("commits", 1), seconds=60.0)
    if archiver is not None:
        site.archives = Archives(archiver, site.threads)
    async with open_site(site) as opened:
        yield Api(opened.browser, site, clock, opened.app, opened.log)
