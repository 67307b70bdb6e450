"""What workers may be believed: the attacks that were tried, over the wire."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from rookery.core.model.events import Action
from rookery.core.model.kinds import Fixed
from rookery.core.model.run import DecidedBy
from rookery.core.model.task import NOTHING
from rookery.core.stats.sprt import Flag
from rookery.server.farm.jobs import FleetJobs
from rookery.server.farm.rules.assignment import MOST_WASTED
from rookery.server.farm.rules.eligibility import STANDARD_POLICY
from rookery.server.farm.rules.observations import MOST_LINES
from rookery.server.farm.statistics_rows import Contributor, Period
from rookery.server.files.games import MOST_UPLOADS
from rookery.server.files.worker_logs import MOST_OF_A_USER
from tests.eventually import eventually
from tests.makers import make_plan, pairs, sprt
from tests.twins.people import MemoryUsers
from tests.twins.sites import make_user
from tests.wire.worker.farm import GAMES, ServedFarm, Worker, open_farm

pytestmark = pytest.mark.anyio


@pytest.fixture
async def strict() -> AsyncIterator[ServedFarm]:
    """A farm that believes strangers no more than it should."""
    users = MemoryUsers()
    async with open_farm(users, policy=STANDARD_POLICY) as farm:
        await farm.change_user(machine_limit=16)
        yield farm


async def test_thousands_of_wins_in_a_moment_make_no_test_green(strict: ServedFarm) -> None:
    await strict.submit(kind=sprt(batch=16), plan=make_plan(games=800_000))
    worker = strict.worker(concurrency=64, max_memory=10**6)
    assert "run" in await worker.request_task()
    strict.clock.move(seconds=0.03)
    answer = await worker.update(pairs(ww=1856))
    assert answer["task_alive"] is False
    run = strict.stored()
    assert not run.status.finished
    assert (run.tally.results.games, run.tally.committed) == (0, 0)
    assert strict.parts.store.rows.events[-1].action is Action.TOO_FAST
    listed = (await strict.site.browser.get(f"/api/v1/tasks?run={run.id}")).json()["tasks"]
    assert (listed[0]["too_fast"], listed[0]["results"]["wins"]) == (True, 0)
    assert listed[0]["kept_apart"]["wins"] == 3712
    page = (await strict.site.browser.get(f"/runs/{run.id}")).text
    assert "Kept apart" in page
    assert "+3712" in page


async def test_wins_in_many_small_tasks_of_invented_machines_make_no_test_green(
    strict: ServedFarm,
) -> None:
    await strict.submit(kind=sprt(batch=1))
    for number in range(40):
        worker = strict.worker(key=f"{number:08x}")
        await worker.request_task()
        await worker.update(pairs(ww=3))
        await worker.call("failed_task", message="enough")
    assert strict.stored().tally.results.games < 8


async def test_no_machine_gets_all_games_by_claiming_very_many_cores(strict: ServedFarm) -> None:
    await strict.submit(kind=sprt(batch=16), plan=make_plan(games=800_000))
    giant = strict.worker(concurrency=65_536, max_memory=2_000_000_000)
    assert "4096 may play" in str(await giant.request_task())
    large = strict.worker(concurrency=4_000, max_memory=2_000_000_000)
    answer = await large.request_task()
    assert answer["run"]["my_task"]["num_games"] < 10_000
    another = strict.worker(key="ffffffff", concurrency=128)
    assert "4096 may play" in str(await another.request_task())


async def test_a_task_without_results_is_taken_back_though_its_machine_lives(
    strict: ServedFarm,
) -> None:
    await strict.submit(kind=sprt(batch=16))
    worker = strict.worker()
    await worker.request_task()
    jobs = FleetJobs(strict.parts.fleet)
    for _ in range(61):
        assert (await worker.beat())["task_alive"]
        strict.clock.move(minutes=1)
        await jobs.end_stalled_tasks()
        await asyncio.sleep(0)  # an hour in one turn of the loop would count as blocking it
    assert not (await worker.beat())["task_alive"]
    assert strict.stored().tally.committed == 0
    assert "run" in await strict.worker(key="ffffffff").request_task()


async def test_the_log_is_not_flooded_by_a_workers_words(strict: ServedFarm) -> None:
    await strict.submit()
    worker = strict.worker()
    await worker.request_task()
    rows = strict.parts.store.rows
    before = len(rows.events)
    for number in range(MOST_LINES + 50):
        await worker.call("worker_log", message=f"line {number}")
        await asyncio.sleep(0)
    assert len(rows.events) - before == MOST_LINES
    strict.clock.move(hours=1, seconds=1)
    await worker.call("worker_log", message="again")
    assert rows.events[-1].message == "again (50 lines were left out)"


async def test_the_logs_of_failures_do_not_fill_the_disk(strict: ServedFarm) -> None:
    await strict.submit()
    for number in range(MOST_OF_A_USER + 10):
        worker = strict.worker(key=f"{number:08x}")
        await worker.request_task()
        await worker.call("failed_task", message="no", rookery={"log": "long words"})
    kept = await strict.parts.logs.rows.of_run(strict.stored().id, 0, 1000)
    assert len(kept) == MOST_OF_A_USER


async def test_tasks_that_nobody_plays_are_given_out_so_many_times_an_hour(
    strict: ServedFarm,
) -> None:
    await strict.submit()
    worker = strict.worker()
    for _ in range(MOST_WASTED + 1):
        assert "run" in await worker.request_task()
    for key in ("1a2b3c4d", "ffffffff"):
        answer = await strict.worker(key=key).request_task()
        assert "ended without a game" in str(answer)
    assert strict.stored().tally.tasks == MOST_WASTED + 1
    assert len(strict.parts.store.rows.events) <= MOST_LINES
    strict.clock.move(hours=1, seconds=1)
    assert "run" in await worker.request_task()


async def test_a_tasks_games_are_not_uploaded_for_ever(strict: ServedFarm) -> None:
    await strict.submit()
    worker = strict.worker()
    await worker.request_task()
    for _ in range(MOST_UPLOADS):
        assert "error" not in await worker.call("upload_pgn", message="", pgn=GAMES)
    answer = await worker.call("upload_pgn", message="", pgn=GAMES)
    assert "more games were uploaded than the task can have" in answer["error"]
    assert len(strict.parts.pgns.rows) == MOST_UPLOADS


async def test_more_games_than_a_task_has_are_refused(strict: ServedFarm) -> None:
    await strict.submit(plan=make_plan(games=200))
    worker = strict.worker()
    answer = await worker.request_task()
    games = answer["run"]["my_task"]["num_games"]
    strict.clock.move(hours=10)
    refused = await worker.update(pairs(even=games // 2 + 1))
    assert "more games than the task has" in refused["error"]
    assert strict.stored().tally.results.games == 0


async def test_a_verdict_by_one_machine_is_marked_in_the_api_and_on_pages(
    strict: ServedFarm,
) -> None:
    run = await strict.submit(kind=Fixed(), plan=make_plan(games=200))
    worker = strict.worker()
    await worker.request_task()
    strict.clock.move(hours=1)
    await worker.update(pairs(ww=90, even=10))
    assert strict.stored().status.finished
    shown = (await strict.site.browser.get(f"/api/v1/runs/{run.id}")).json()
    assert shown["decided_by"] == "machine"
    assert "passed, by one machine" in (await strict.site.browser.get(f"/runs/{run.id}")).text
    told = strict.parts.store.rows.events[-1]
    assert (told.message or "").endswith("played by one machine")


PLAUSIBLE = pairs(ld=6, even=21, wd=11)
"""Of an engine that has gained: 76 games."""


QUICK = 76 * 0.7 / 128
"""The time in which 128 cores play 76 games, if a game takes 0.7 s."""


async def play(farm: ServedFarm, workers: list[Worker], *, times: int, seconds: float) -> None:
    """Every machine reports 76 games more, so many times and so many seconds apart."""
    played = NOTHING
    for _ in range(times):
        farm.clock.move(seconds=seconds)
        played += PLAUSIBLE
        for worker in workers:
            await worker.update(played)
        await asyncio.sleep(0)


async def newcomers(farm: ServedFarm) -> list[Worker]:
    """Two new accounts with three machines each, which claim much."""
    await make_user(farm.parts, "mallory")
    claims: dict[str, object] = {"concurrency": 128, "nps": 8e6, "max_memory": 10**6}
    owners = ("wanda", "mallory") * 3
    workers = [farm.worker(name, f"{i:08x}", **claims) for i, name in enumerate(owners)]
    for worker in workers:
        await worker.request_task()
    return workers


async def test_two_new_accounts_decide_no_test_within_seconds(strict: ServedFarm) -> None:
    await strict.submit(kind=sprt(), plan=make_plan(games=800_000))
    await play(strict, await newcomers(strict), times=48, seconds=QUICK)
    assert strict.clock.passed < 20
    run = strict.stored()
    assert (run.status.finished, run.tally.results.games) == (False, 0)


async def test_a_verdict_by_new_accounts_is_marked_in_the_api_and_on_pages(
    strict: ServedFarm,
) -> None:
    run = await strict.submit(kind=sprt(), plan=make_plan(games=800_000))
    await play(strict, await newcomers(strict), times=10, seconds=60)
    assert strict.stored().status.flag is Flag.GREEN
    browser = strict.site.browser
    assert (await browser.get(f"/api/v1/runs/{run.id}")).json()["decided_by"] == "newcomers"
    for page in (f"/runs/{run.id}", "/tests/finished"):
        assert "passed, by new machines" in (await browser.get(page, follow_redirects=True)).text
    told = strict.parts.store.rows.events[-1]
    assert (told.message or "").endswith("played by new machines")


async def test_a_verdict_of_users_with_standing_has_no_mark(strict: ServedFarm) -> None:
    await strict.submit(kind=sprt(), plan=make_plan(games=800_000))
    workers = await newcomers(strict)
    known = [Contributor(name, 10, 1.0, 0, None) for name in ("wanda", "mallory")]
    strict.parts.statistics.contributors[Period.ALL] += known
    strict.clock.move(days=7)
    await play(strict, workers, times=1, seconds=60)
    await FleetJobs(strict.parts.fleet).look_up_newcomers()
    await play(strict, workers, times=10, seconds=60)
    assert strict.stored().status.flag is Flag.GREEN
    assert strict.stored().status.decided_by is DecidedBy.NOBODY


async def test_after_a_restart_users_with_standing_are_known_at_once(strict: ServedFarm) -> None:
    await strict.submit(kind=sprt(), plan=make_plan(games=800_000))
    workers = await newcomers(strict)
    await play(strict, workers, times=1, seconds=60)
    known = [Contributor(name, 10, 1.0, 0, None) for name in ("wanda", "mallory")]
    strict.parts.statistics.contributors[Period.ALL] += known
    strict.clock.move(days=7)
    strict.parts.store.commits.lose()
    strict.parts.fleet.primary.lost("on purpose")
    await eventually(lambda: strict.parts.fleet.primary.is_serving)
    working = strict.parts.fleet.primary.term().working
    assert working.decided_by(strict.stored()) is DecidedBy.NOBODY
