"""What users' machines gave, counted from rows as the group commit writes them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.run import Run, core_hours
from rookery.core.model.task import Task
from rookery.server.db.pool import Queries
from rookery.server.db.target import Target
from rookery.server.farm.statistics import Accounting
from rookery.server.farm.statistics_rows import Contributor, ContributorOrder, Period, Statistics
from rookery.server.farm.store import FleetStore
from tests.database import pool_on
from tests.fakes import HandClock
from tests.makers import NOW, make_run, pairs
from tests.storage.farm.stores import changed, finished, kept, make_task, opened, played

pytestmark = pytest.mark.anyio

OVER = finished("a")
OWNER = OVER.plan.owner
ME = make_task(OVER).machine.user


@dataclass(frozen=True, slots=True)
class Books:
    store: FleetStore
    rows: Statistics
    count: Accounting
    clock: HandClock

    async def write(self, run: Run, *tasks: Task) -> None:
        await kept(self.store, changed(played(run, *tasks), *tasks))

    async def of(self, user: str, period: Period = Period.ALL) -> Contributor | None:
        found = {each.user_name: each for each in await self.rows.page(period, 0, 10)}
        return found.get(user)


@pytest.fixture
async def books(database: Target, queries: Queries) -> AsyncIterator[Books]:
    clock = HandClock()
    clock.move(seconds=(NOW - clock.now()).total_seconds())
    async with opened(database, queries) as store, pool_on(database) as pool:
        rows = Statistics(pool, queries)
        yield Books(store, rows, Accounting(rows, store.reads, clock), clock)


def closed(number: int, games: int, user: str = "", *, run: Run = OVER, bad: bool = False) -> Task:
    task = make_task(run, number).closed()
    machine = with_fields(task.machine, user=user or ME)
    return replace(task, results=pairs(even=games // 2), machine=machine, bad=bad)


async def test_games_and_hours_are_credited_to_the_machines_user(books: Books) -> None:
    await books.write(OVER, closed(0, 6), closed(1, 10, bad=True), closed(2, 18, "bob"))
    await books.count()
    mine, bobs = await books.of(ME), await books.of("bob")
    assert mine is not None
    assert bobs is not None
    assert (mine.games, bobs.games) == (6, 18)
    assert mine.core_hours == pytest.approx(core_hours(OVER, 6))
    assert await books.rows.hours_of(("bob", "nobody")) == {
        "bob": pytest.approx(core_hours(OVER, 18))
    }


async def test_late_games_are_credited_though_the_run_was_counted_before(books: Books) -> None:
    await books.write(OVER, closed(0, 6), closed(1, 0, "bob"))
    await books.count()
    assert await books.of("bob") is None
    for games in (4, 8, 2):
        await books.rows.note_late(OVER.id, 1, games, NOW)
    await books.count()
    bobs, mine = await books.of("bob"), await books.of(ME)
    assert bobs is not None
    assert mine is not None
    assert (bobs.games, mine.games) == (8, 6)


async def test_the_tests_a_user_submitted_are_counted(books: Books) -> None:
    await books.write(OVER)
    await books.write(make_run("b"))
    await books.count()
    owner = await books.of(OWNER)
    assert owner is not None
    assert (owner.tests, owner.games) == (2, 0)


async def test_a_run_that_goes_on_is_not_counted_yet(books: Books) -> None:
    run = make_run("b")
    await books.write(run, closed(0, 6, "bob", run=run))
    await books.count()
    assert await books.of("bob") is None


async def test_a_run_that_changed_is_counted_again_and_once(books: Books) -> None:
    await books.write(OVER, closed(0, 6, "bob"))
    await books.count()
    await books.count()
    await books.write(OVER, closed(0, 6, "bob"), closed(1, 8, "bob"))
    await books.count()
    found = await books.of("bob")
    assert found is not None
    assert found.games == 14


async def test_a_month_later_only_the_sum_of_all_time_is_left(books: Books) -> None:
    await books.write(OVER, closed(0, 6, "bob"))
    await books.count()
    assert await books.of("bob", Period.MONTH) == await books.of("bob")
    books.clock.move(seconds=timedelta(days=31).total_seconds())
    await books.count()
    assert await books.of("bob", Period.MONTH) is None
    assert await books.of("bob") is not None


async def test_a_search_keeps_places_and_counts_what_it_found(books: Books) -> None:
    await books.write(OVER, closed(0, 6), closed(1, 18, "bob"), closed(2, 4, "bobby"))
    await books.count()
    found = await books.rows.search(Period.ALL, "BOB", ContributorOrder.GAMES, 0, 1)
    assert [(each.place, each.user_name, each.found) for each in found] == [(1, "bob", 2)]
    (second,) = await books.rows.search(Period.ALL, "bob", ContributorOrder.LAST, 1, 1)
    assert second.found == 2
    totals = await books.rows.totals(Period.MONTH)
    assert totals.games == 28
    assert (await books.rows.of_users(["bob", "nobody"]))["bob"][Period.ALL].games == 18
