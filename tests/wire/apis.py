"""The JSON APIs on in-memory twins, with standing persons who each hold a token."""

import json
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
from starlette.applications import Starlette

from rookery.boundary.offload import Gate, Threads
from rookery.farm.fleet import Fleet
from rookery.model.kinds import Report
from rookery.model.machine import Machine
from rookery.model.task import Results, Task
from rookery.people.bearers import Bearers
from rookery.people.users import ORDINARY, Scope, User, mint
from rookery.rules.answers import Grant, HeldTask
from rookery.sources.commits import Archiver, Archives, Commits, Finder
from rookery.web.desk import ApiDesk
from tests.desks import Back, make_back
from tests.twins.farm import MemoryStore
from tests.twins.people import MemoryTokens, MemoryUsers
from tests.unit.core.makers import make_machine
from tests.unit.service.people import BORIS, OLGA, SVEN
from tests.unit.service.submission.samples import SPRT, body
from tests.unit.web.fakes import HandClock, RecordedLog
from tests.wire.houses import make_house, open_site

WANDA = "wanda"
Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Api:
    """A started app as scripts see it."""

    visitor: httpx.AsyncClient
    desk: ApiDesk
    back: Back
    clock: HandClock
    tokens: MemoryTokens
    app: Starlette

    @property
    def fleet(self) -> Fleet:
        return self.desk.fleet

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
        await self.fleet.update_task(call, Report(results), None)


@asynccontextmanager
async def open_api(
    *,
    cross_approval: bool = False,
    files: Path | None = None,
    nets_elsewhere: str = "",
    change: Callable[[ApiDesk], ApiDesk] = lambda desk: desk,
    finder: Finder | None = None,
    login_to_view: bool = False,
    archiver: Archiver | None = None,
) -> AsyncIterator[Api]:
    users, clock, threads = MemoryUsers(OLGA, BORIS, SVEN), HandClock(), Threads()
    tokens, log, store = MemoryTokens(users), RecordedLog(), MemoryStore()
    known = Bearers(tokens, users, clock)
    back = make_back(users=users, tokens=known, threads=threads, clock=clock, log=log, store=store)
    house = make_house(log=log, clock=clock, users=users, back=back, tokens=tokens, files=files)
    desk = replace(house.api, cross_approval=cross_approval, nets_elsewhere=nets_elsewhere)
    desk = change(desk)
    if finder is not None:
        commits = Commits(finder, house.threads, Gate("commits", 1), seconds=60.0)
        desk = replace(desk, sources=replace(desk.sources, commits=commits))
    if archiver is not None:
        archives = Archives(archiver, house.threads)
        desk = replace(desk, sources=replace(desk.sources, archives=archives))
    async with open_site(replace(house, api=desk, login_to_view=login_to_view)) as site:
        yield Api(site.browser, desk, back, clock, tokens, site.app)
