"""A house with in-memory twins, and a client that calls its app in this very process."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from rookery.bootstrap.app import create_app
from rookery.boundary.bridge import Bridge, open_bridge
from rookery.boundary.offload import Threads
from rookery.clock import Clock, SystemClock
from rookery.farm.events import Bus
from rookery.files.disk import Disk
from rookery.logs import Log
from rookery.people.passwords import Passwords
from rookery.people.users import Tokens, User
from rookery.web import server
from rookery.web.bodies import Streams
from rookery.web.desk import ApiDesk
from rookery.web.house import Basis, House, Limits
from rookery.web.steps import Opened, Stairs, Step, opening
from tests.api_desks import make_api_desk
from tests.desks import Back, make_back
from tests.twins.people import MemoryEndedSessions, MemoryUsers
from tests.unit.web.fakes import RecordedLog

KEY = b"a key for tests only"
PASSWORD = "correct horse battery"


async def database_answers() -> None:
    """The in-memory twins always do."""


def make_house(
    *,
    log: Log | None = None,
    clock: Clock | None = None,
    steps: Sequence[Step] = (),
    users: MemoryUsers | None = None,
    back: Back | None = None,
    tokens: Tokens | None = None,
    files: Path | None = None,
) -> House:
    """A house whose own steps are the bridge and the fleet."""
    threads, log, users = Threads(), log or RecordedLog(), users or MemoryUsers()
    clock, streams = clock or SystemClock(), Streams()
    back = back or make_back(users=users, threads=threads, clock=clock, log=log)
    api = make_api_desk(
        back,
        users,
        threads=threads,
        clock=clock,
        streams=streams,
        tokens=tokens,
        files=files,
    )
    bridge: Opened[Bridge] = Opened("bridge")
    crossing = opening(bridge, "bridge", "threads may call the loop", open_bridge)
    return House(
        users=users,
        ended_sessions=MemoryEndedSessions(),
        disk=Disk(Path("/"), threads, clock),
        workers=back.desk,
        api=api,
        threads=threads,
        bridge=bridge,
        stairs=Stairs((crossing, back.step(), event_step(api), *steps), threads, log),
        clock=clock,
        log=log,
        streams=streams,
        limits=Limits.with_uploads(16_000_000),
        secret_keys=lambda: (KEY,),
        database_answers=database_answers,
    )


def event_step(api: ApiDesk) -> Step:
    place: Opened[Bus] = Opened("events")
    return opening(place, "events", "as in the real house", api.bus.opened)


def in_memory_site(app: Starlette, house: House) -> tuple[server.Site, Basis]:
    """What `serve` takes, for an app that stands on in-memory twins alone."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[tuple[Starlette, House]]:
        async with app.router.lifespan_context(app):
            yield app, house

    basis = Basis(house.threads, house.clock, house.log, house.lifecycle, house.streams)
    return server.Site(opened, lambda: house.stairs.failures), basis


@dataclass(frozen=True, slots=True)
class Site:
    """A started app, and a browser for it."""

    app: Starlette
    house: House
    browser: httpx.AsyncClient
    log: RecordedLog

    def visitor(self) -> httpx.AsyncClient:
        """Another browser, with cookies of its own."""
        return _browser(self.app)


@asynccontextmanager
async def open_site(house: House | None = None, *routes: BaseRoute) -> AsyncIterator[Site]:
    log = RecordedLog()
    house = replace(house or make_house(), log=log)
    # In a thread, because it reads templates and style sheets and the tests watch the loop.
    app = await house.threads.io(create_app, house, routes)
    async with app.router.lifespan_context(app), _browser(app) as browser:
        yield Site(app, house, browser, log)


def _browser(app: Starlette) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app, client=("192.0.2.7", 1234))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost")


async def make_user(house: House, name: str = "ada") -> User:
    """A user with the password of this module."""
    passwords = Passwords(house.threads, house.clock, KEY)
    user = User(
        name=name,
        email=f"{name}@example.org",
        password_hash=await passwords.hash(PASSWORD),
        groups=frozenset(),
        blocked=False,
        pending=False,
        machine_limit=16,
        created=datetime(2030, 1, 1, tzinfo=UTC),
    )
    await house.users.add(user)
    return user
