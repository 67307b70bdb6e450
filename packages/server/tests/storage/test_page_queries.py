"""A page sends as many statements with ten times the data: to the letter, every page, and to
everybody."""

import hashlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from random import Random

import httpx
import pytest
from starlette.routing import Route

from rookery.core.boundary.offload import Threads
from rookery.core.clock import SystemClock
from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.core.model.events import Action, Event, about_task
from rookery.core.model.kinds import SprtTest
from rookery.core.model.notifications import NotificationKind
from rookery.demo.seeding import FarmSeed, SeedSize, list_commits, read_ideas
from rookery.demo.seeding_people import invent_users
from rookery.server.app.build import build
from rookery.server.app.routes import create_app, page_routes
from rookery.server.app.site import Site
from rookery.server.db.lease import Lease, hold_primacy
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.rules.answers import Changes, HeldTask
from rookery.server.farm.store import open_fleet_store
from rookery.server.http.steps import Process
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import ORDINARY
from rookery.server.notify.outbox import ChannelForm, NotificationChannel
from rookery.server.settings import Settings
from tests.database import pool_on
from tests.fakes import HandClock, RecordedLog
from tests.pages.games import packed_games
from tests.people import BORIS, OLGA
from tests.storage.query_count import counted_statements, noted_statements
from tests.twins.sites import PASSWORD
from tests.wire.test_login import log_in

pytestmark = pytest.mark.anyio

PAGES = (
    *("/", "/live", "/tests", "/tests?text=a&user=birk", "/tests/live?user=birk"),
    *("/tests/new", "/tests/new?clone={passed}"),
    *(
        "/runs/{pending}",
        "/runs/{playing}",
        "/runs/{playing}/live",
        "/runs/{playing}/recent",
        "/runs/{passed}",
    ),
    *("/runs/{passed}/tasks", "/runs/{playing}/tasks", "/runs/{passed}/stats"),
    *("/runs/{passed}/elo", "/runs/{passed}/elo/live", "/runs/{passed}/samples.csv"),
    *("/runs/{passed}/games", "/runs/{passed}/games/0/0", "/runs/{passed}/diff"),
    *("/runs/{passed}/compare?with={playing}", "/machines", "/machines?text=core&state=playing"),
    *(
        "/machines/{machine}",
        "/machines/add",
        "/machines/live",
        "/log",
        "/log/live",
        "/log?text=a&action=failed_task",
    ),
    *("/errors?days=30", "/engines", "/engines/new", "/engines/Stockfish", "/engines/Wren0/edit"),
    *("/engines/Stockfish/progress", "/nets?text=nn", "/books", "/books/book0.epd", "/programs"),
    *("/users", "/users/birk", "/profile", "/profile/notifications", "/tokens"),
    *(
        "/teams",
        "/teams/team0",
        "/repositories",
        "/contributors",
        "/ask",
        "/ask/{chat}",
        "/server",
        "/sprt",
    ),
    *("/api", "/docs", "/docs/why"),
)
FIXED = frozenset(
    {
        *("/login", "/signup", "/login/reset", "/login/new-password", "/confirm", "/unsubscribe"),
        *("/static/{digest}/{name}", "/theme", "/robots.txt", "/favicon.ico", "/upload"),
        *("/tests/live_elo/{run_id}", "/tests/tasks/{run_id}", "/tests/stats/{run_id}"),
        *("/tests/view/{run_id}", "/tests/run", "/tests/finished", "/tests/machines", "/actions"),
        *("/contributors/monthly", "/nns", "/user", "/user_management", "/rate_limits"),
        *("/user_management/pending_count", "/rate_limits/server"),
        *("/tests/live_elo_update/{run_id}", "/tests/view/{run_id}/detail"),
        *("/tests/user/{user}", "/user/{user}", "/workers/{worker}", "/sprt_calc", "/live/news"),
    }
)
"""Forms that show no data, fixed files, addresses that lead to another page, and a stream."""
LITTLE, MUCH = SeedSize(13, 6, 4), SeedSize(130, 60, 40)
AT_A_TIME = 20
MOST = 12
FORGOTTEN_SECONDS = 61
"""After so long nothing is remembered, so that every page sends all it ever sends."""
OPENING = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - id one;\n"
GAMES = packed_games(2)
Counts = dict[tuple[str, str], int]
"""By person and page; nobody's name is empty."""
APPROVER, MEMBER, VISITOR = "boris", "olga", ""


@asynccontextmanager
async def open_server(database: Target, folder: Path, clock: HandClock) -> AsyncIterator[Site]:
    settings = Settings(data=folder, database_url=database.dsn)
    process = Process(Threads(), clock, RecordedLog())
    async with build(settings, process) as site:
        process.lifecycle.started()
        yield site


async def seed(database: Target, queries: Queries, farm: FarmSeed) -> list[Changes]:
    """Runs with their tasks, written as the command writes them, but several at once."""
    await Threads().io(read_ideas)
    async with pool_on(database, "seed") as pool:
        lease = Lease(pool, queries, instance="seed", address="")
        async with hold_primacy(lease, force=True), open_fleet_store(pool, queries, lease) as store:
            commits = await store.take()
            written = await Threads().cpu(lambda: list(farm.invent_runs()))
            for number, changes in enumerate(written, 1):
                for part in list_commits(changes):
                    sequence = commits.put(part)
                    if changes.bad or number % AT_A_TIME == 0 or number == len(written):
                        await commits.wait_committed(sequence)
            # Whatever chance has drawn, some task has failed.
            await commits.wait_committed(commits.put(Changes(events=(make_failure(written),))))
    return written


def make_failure(written: list[Changes]) -> Event:
    changes = next(each for each in written if each.tasks)
    run, task = changes.runs[0], changes.tasks[0]
    return about_task(Action.FAILED_TASK, run, task, task.reported, "It broke.")


async def fill(site: Site, numbers: range) -> None:
    """One of everything else for each number."""
    actor, now = Actor("boris", approver=True), site.clock.now()
    for number in numbers:
        for name, pending in ((f"user{number}", False), (f"new{number}", True)):
            await site.users.add(replace(BORIS, name=name, email=f"{name}@x.org", pending=pending))
        team = await site.teams.create(f"team{number}", actor)
        await site.repositories.grant(f"https://x.org/{number}", team.name, actor)
        await site.engines.put(EngineRecord(name=f"Wren{number}", team=team.name), actor)
        await site.accounts.create_token("boris", ORDINARY, note=f"token {number}")
        chat = await site.ask.chats.create("boris", f"chat {number}", temporary=False)
        await site.ask.chats.remember(chat, "boris", "Why?", "So.", (), begin=False)
        kinds, where = frozenset({NotificationKind.FINISHED}), f"https://x.org/{number}"
        await site.channels.add(
            NotificationChannel(0, "boris", ChannelForm.JSON, where, "", kinds, True, now, 0, now)
        )
        await upload(site, number)


async def upload(site: Site, number: int) -> None:
    net = b"net %d" % number
    name = f"nn-{hashlib.sha256(net).hexdigest()[:12]}.nnue"
    await site.nets.upload(give(net), name, "boris")
    await site.books.upload(give(OPENING), f"book{number}.epd", "boris")
    await site.programs.upload(give(b"\x7fELF%d" % number), f"program{number}", "boris")


async def upload_games(site: Site, written: list[Changes]) -> None:
    """Games, and logs of a failure, of every run that has tasks."""
    for changes in written:
        run = changes.runs[0]
        await site.subscriptions.put(run.id, "boris", following=True)
        for task in changes.tasks[:1]:
            await site.games.upload(task, GAMES)
            held = HeldTask(run.id, task.id, task.machine)
            await site.logs.store(held, "/api/failed_task", "It broke.")
            await site.fleet.log_message(task.machine, "It broke.", held)
    await site.accounting()


async def give(content: bytes) -> AsyncIterator[bytes]:
    yield content


async def count_statements(site: Site, clock: HandClock, names: Mapping[str, str]) -> Counts:
    """How many statements each page sends to an approver, a member and a visitor where nothing is
    remembered. Some pages are not for all of them, and say so."""
    found: Counts = {}
    transport = httpx.ASGITransport(await site.threads.io(create_app, site))
    for person in (APPROVER, MEMBER, VISITOR):
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            if person:
                assert (await log_in(client, username=person)).status_code == 302
            for page in PAGES:
                path = page.format_map(names)
                clock.move(seconds=FORGOTTEN_SECONDS)
                with counted_statements() as sent:
                    answer = await client.get(path)
                expected = (200,) if person == APPROVER else (200, 302, 303, 403, 404)
                assert answer.status_code in expected, (person, path, answer.text[-600:])
                found[person, page] = len(sent)
    return found


async def find_names(site: Site, written: list[Changes]) -> dict[str, str]:
    """What stands in the addresses of pages: a run in each state, a machine, a conversation."""
    runs = [changes.runs[0] for changes in written]
    playing = next(run for run in runs if run.tally.workers and isinstance(run.kind, SprtTest))
    # Of the first task of each run there is a failure with its log, which are asked for apart.
    failed = next(changes.tasks[0] for changes in written if changes.runs[0] is playing)
    return {
        "pending": next(run.id for run in runs if not run.status.approved),
        "playing": playing.id,
        "passed": next(r.id for r in runs if r.status.finished and isinstance(r.kind, SprtTest)),
        "machine": failed.machine.short_name,
        "chat": (await site.ask.chats.of("boris"))[0].id,
    }


async def add_people(site: Site) -> None:
    hashed = await Passwords(Threads(), SystemClock(), b"key").hash(PASSWORD)
    own = (replace(each, password_hash=hashed) for each in (BORIS, OLGA))
    for user in (*own, *invent_users(site.clock.now(), "none")):
        await site.users.add(user)


async def test_a_page_sends_as_many_statements_with_ten_times_the_data(
    database: Target, queries: Queries, tmp_path: Path
) -> None:
    clock, counts = HandClock(), list[Counts]()
    with noted_statements():
        for size, numbers in ((LITTLE, range(1)), (MUCH, range(1, 10))):
            written = await seed(database, queries, FarmSeed(Random(2), clock.now(), size))
            async with open_server(database, tmp_path, clock) as site:
                if not counts:
                    await add_people(site)
                await fill(site, numbers)
                await upload_games(site, written)
                counts.append(await count_statements(site, clock, await find_names(site, written)))
    little, much = counts
    assert {seen: (little[seen], much[seen]) for seen in little if little[seen] != much[seen]} == {}
    assert max(much.values()) <= MOST, much


def test_every_page_is_counted() -> None:
    shown = [
        route
        for route in page_routes()
        if isinstance(route, Route) and "GET" in (route.methods or ()) and route.path not in FIXED
    ]
    paths = [page.partition("?")[0] for page in PAGES]
    missing = [each.path for each in shown if not any(map(each.path_regex.match, paths))]
    assert missing == []
