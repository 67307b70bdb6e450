"""What workers may be believed: the attacks that were tried, over the wire."""

from collections.abc import AsyncIterator

import pytest

from rookery.farm.jobs import FleetJobs
from rookery.files.games import MOST_UPLOADS
from rookery.files.worker_logs import MOST_OF_A_USER
from rookery.model.events import Action
from rookery.model.kinds import Fixed
from rookery.rules.assignment import MOST_WASTED
from rookery.rules.eligibility import STANDARD_POLICY
from rookery.rules.observations import MOST_LINES
from tests.makers import make_plan, pairs, sprt
from tests.twins.people import MemoryUsers
from tests.wire.worker.farm import GAMES, ServedFarm, open_farm

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
    assert (told.message or "").endswith("decided by one machine")
