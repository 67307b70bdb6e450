"""Accounts that nobody has used are parted with a month after they were made, and no others."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.engine import EngineRecord
from rookery.core.model.events import Action, Event, about_user, about_worker
from rookery.core.protocol.actions import All
from rookery.core.protocol.people import Team
from rookery.core.protocol.v1 import EngineVersion
from rookery.server.db.pool import Pool, Queries
from rookery.server.db.target import Target
from rookery.server.engines.engines import EngineRows
from rookery.server.farm.read_values import LogVisibility
from rookery.server.farm.reads import FleetReads
from rookery.server.farm.rules.answers import Changes, MachineBlock
from rookery.server.farm.statistics import Accounting
from rookery.server.farm.statistics_rows import Statistics
from rookery.server.farm.store import FleetStore
from rookery.server.files.books import BookRows, StoredBook
from rookery.server.files.engine_files import NetRows, ProgramRows, StoredNet, StoredProgram
from rookery.server.identity.users import APPROVERS, Audit, Scope, Tokens, Users, mint
from rookery.server.teams.teams import TeamRows
from tests.database import pool_on
from tests.fakes import HandClock
from tests.makers import NOW, make_machine, make_run, pairs
from tests.people import OLGA, counting
from tests.storage.farm.stores import changed, finished, kept, make_task, opened, played

pytestmark = pytest.mark.anyio

DAYS = 28


@dataclass(frozen=True, slots=True)
class Site:
    pool: Pool
    queries: Queries
    store: FleetStore

    async def join(self, name: str, days: float = DAYS + 1, **fields: object) -> str:
        created = NOW - timedelta(days=days)
        user = replace(OLGA, name=name, groups=frozenset(), created=created)
        await Users(self.pool, self.queries).add(
            replace(user, **fields)  # type: ignore[arg-type]  # tests name the fields they need
        )
        return name

    async def count(self, days: int = DAYS, at_a_time: int = 50) -> None:
        clock = HandClock()
        clock.move(seconds=(NOW - clock.now()).total_seconds())
        rows = Statistics(self.pool, self.queries)
        count = Accounting(rows, self.store.reads, clock, idle_days=days, at_a_time=at_a_time)
        await count()

    async def names(self) -> set[str]:
        everyone = await Users(self.pool, self.queries).list_all()
        return {user.name for user in everyone}

    async def log(self) -> list[tuple[str, str]]:
        reads = FleetReads(self.pool, self.queries)
        found = await reads.actions(All(()), sight=LogVisibility(person=None))
        return [(each.action, each.subject) for each in found]

    async def tell(self, event: Event) -> None:
        await Audit(self.pool, self.queries).write(event)


@pytest.fixture
async def site(database: Target, queries: Queries) -> AsyncIterator[Site]:
    async with opened(database, queries) as store, pool_on(database) as pool:
        yield Site(pool, queries, store)


async def test_who_signed_up_a_month_ago_and_did_nothing_is_parted_with(site: Site) -> None:
    await site.join("idle")
    await site.join("waiting", pending=True)
    await site.join("young", days=DAYS - 1)
    await site.join("old", days=DAYS + 11)
    await site.count()
    assert await site.names() == {"young", "old"}
    assert sorted(await site.log()) == [("remove_user", "idle"), ("remove_user", "waiting")]


async def test_nobody_is_parted_with_where_it_is_switched_off(site: Site) -> None:
    await site.join("idle")
    await site.count(days=0)
    assert await site.names() == {"idle"}


async def test_many_are_parted_with_in_slices(site: Site) -> None:
    for name in ("a1", "a2", "a3", "a4", "a5"):
        await site.join(name)
    await site.count(at_a_time=2)
    assert await site.names() == set()
    assert len(await site.log()) == 5


async def _submitted(site: Site, name: str) -> None:
    run = finished("a")
    deleted = replace(run.status, deleted=True)
    plan = with_fields(run.plan, owner=name)
    await kept(site.store, changed(replace(run, plan=plan, status=deleted)))


async def _gave_games(site: Site, name: str) -> None:
    run = finished("b")
    machine = make_machine("x", user=name)
    task = replace(make_task(run).closed(), machine=machine, results=pairs(even=3))
    await kept(site.store, changed(played(run, task), task))


async def _plays(site: Site, name: str) -> None:
    run = make_run("c")
    task = replace(make_task(run), machine=make_machine("x", user=name))
    await kept(site.store, changed(played(run, task), task))


async def _has_a_machine(site: Site, name: str) -> None:
    # Written beside the group commit, some time after it: here at once.
    row = (f"{name}-4cores-1a2b3c4d", ["f" * 24], "")
    await site.pool.execute("INSERT INTO recalled_machines VALUES ($1, $2, $3)", *row)


async def _has_a_blocked_machine(site: Site, name: str) -> None:
    block = MachineBlock(f"{name}-4cores-1a2b3c4d", "too slow", NOW)
    await kept(site.store, Changes(blocks=(block,)))


async def _has_a_token(site: Site, name: str, **fields: datetime) -> None:
    minted = mint(name, frozenset({Scope.READ}), now=NOW, chance=counting())
    token = replace(minted.token, **fields)  # type: ignore[arg-type]  # as above
    await Tokens(site.pool, site.queries).add(token)


async def _is_in_a_team(site: Site, name: str) -> None:
    await TeamRows(site.pool, site.queries).add(Team("owls", (name,), (name,), NOW))


async def _gave_a_net(site: Site, name: str) -> None:
    await NetRows(site.pool, site.queries).add(StoredNet("nn-1.nnue", "blob", 1, name, NOW))


async def _gave_a_book(site: Site, name: str) -> None:
    book = StoredBook("a.epd", "blob", 1, "", "", 1, name, NOW)
    await BookRows(site.pool, site.queries).add(book)


async def _gave_a_program(site: Site, name: str) -> None:
    program = StoredProgram("0" * 64, "blob", 1, "a", name, NOW)
    await ProgramRows(site.pool, site.queries).add(program)


async def _wrote_an_engine(site: Site, name: str) -> None:
    engine = EngineVersion(record=EngineRecord(name="Strix"), changed=NOW, changed_by=name)
    await EngineRows(site.pool, site.queries).save(engine)


async def _did_something(site: Site, name: str) -> None:
    await site.tell(about_worker(Action.WORKER_LOG, "", name, NOW, "hello"))


async def _was_made_by_an_administrator(site: Site, name: str) -> None:
    await site.tell(about_user(Action.NEW_USER, name, "boris", NOW, ""))


USES: Mapping[str, Callable[[Site, str], Awaitable[None]]] = {
    use.__name__.replace("_", ""): use
    for use in (
        *(_submitted, _gave_games, _plays, _has_a_machine, _has_a_blocked_machine, _has_a_token),
        *(_is_in_a_team, _gave_a_net, _gave_a_book, _gave_a_program, _wrote_an_engine),
        *(_did_something, _was_made_by_an_administrator),
    )
}


async def test_whatever_an_account_is_used_for_keeps_it(site: Site) -> None:
    for name, use in USES.items():
        await site.join(name)
        await use(site, name)
    await site.join("blocked", blocked=True)
    await site.join("admin", groups=frozenset({APPROVERS}))
    await site.join("idle")
    before = await site.names()
    await site.count()
    assert before - await site.names() == {"idle"}


@pytest.mark.parametrize("end", [{"expires": NOW}, {"revoked": NOW}])
async def test_a_token_that_has_ended_keeps_nobody(site: Site, end: dict[str, datetime]) -> None:
    await site.join("late")
    await _has_a_token(site, "late", **end)
    await site.count()
    assert await site.names() == set()
