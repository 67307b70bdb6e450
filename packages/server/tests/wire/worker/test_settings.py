"""What an operator's settings change for workers."""

from dataclasses import replace

import pytest

from rookery.server.app.parts import policy_of
from rookery.server.settings import Settings
from tests.makers import make_plan, pairs, sprt
from tests.twins.sites import make_user
from tests.wire.worker.farm import Answer, open_farm
from tests.wire.worker.test_full_gate import full_gate

pytestmark = pytest.mark.anyio


async def ask_twice(settings: Settings, **second: str) -> list[Answer]:
    """The answers to two machines at one address, whose users may have one each."""
    async with open_farm(settings=settings, policy=policy_of(settings)) as farm:
        await farm.change_user(machine_limit=1)
        walter = await make_user(farm.parts, "walter")
        await farm.parts.users.save(replace(walter, machine_limit=1))
        await farm.submit()
        workers = farm.worker(), farm.worker(key="ffffffff", **second)
        return [await worker.request_task() for worker in workers]


@pytest.mark.parametrize("by_address", [False, True])
async def test_the_limit_of_machines_applies_to_addresses_where_that_is_wanted(
    *, by_address: bool
) -> None:
    settings = Settings(limit_per_address=by_address)
    _, of_wanda = await ask_twice(settings)
    _, of_walter = await ask_twice(settings, name="walter", username="walter")
    assert ("run" in of_wanda, "run" in of_walter) == (False, not by_address)


@pytest.mark.parametrize(("cores", "is_given"), [(8, True), (7, False)])
async def test_a_user_may_have_as_many_cores_as_the_settings_say(
    cores: int, *, is_given: bool
) -> None:
    settings = Settings(cores_per_user=cores)
    async with open_farm(policy=policy_of(settings)) as farm:
        await farm.change_user(machine_limit=16)
        await farm.submit()
        assert ("run" in await farm.worker(concurrency=8).request_task()) == is_given


@pytest.mark.parametrize("simulated", [False, True])
async def test_impossibly_fast_results_count_in_a_simulated_fleet_alone(*, simulated: bool) -> None:
    async with open_farm(policy=policy_of(Settings(simulated_fleet=simulated))) as farm:
        await farm.change_user(machine_limit=16)
        await farm.submit(kind=sprt(batch=16), plan=make_plan(games=800_000))
        worker = farm.worker(concurrency=64, max_memory=10**6)
        await worker.request_task()
        farm.clock.move(seconds=0.03)
        await worker.update(pairs(ww=1856))
        assert (farm.stored().tally.results.games > 0) == simulated


@pytest.mark.parametrize("minded", [False, True])
async def test_machines_near_their_github_limit_get_new_runs_where_it_is_not_minded(
    *, minded: bool
) -> None:
    async with open_farm(settings=Settings(mind_github_quota=minded)) as farm:
        await farm.submit()
        answer = await farm.worker(near_github_api_limit=True).request_task()
        assert ("run" in answer) == (not minded)


async def test_as_many_task_requests_may_wait_for_a_password_as_the_settings_say() -> None:
    async with open_farm(settings=Settings(task_semaphore_size=1)) as farm:
        with farm.parts.task_gate.enter():
            assert "busy" in (await farm.worker().request_task())["info"]
    async with open_farm(settings=Settings(task_semaphore_size=2)) as farm:
        with farm.parts.task_gate.enter():
            assert "busy" not in (await farm.worker().request_task()).get("info", "")
        with full_gate(farm):
            assert farm.parts.task_gate.stats().inside == 2
