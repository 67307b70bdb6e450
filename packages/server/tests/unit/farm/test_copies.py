"""A process that is not primary tells the same of the fleet as the primary does."""

from dataclasses import dataclass

import pytest

from rookery.core.model.kinds import Report
from rookery.server.farm import activity
from rookery.server.farm.activity import ActivityKeeping
from rookery.server.farm.fleet import Fleet
from rookery.server.farm.primary import Rebuilding
from rookery.server.farm.published import inline
from rookery.server.farm.views import RunSpeed
from tests.makers import BOSS, call_of, make_machine, pairs, run_id
from tests.unit.farm.memory_farm import MemoryFarm

pytestmark = pytest.mark.anyio


@dataclass
class Pair:
    """A primary, and another process on the same rows."""

    primary: MemoryFarm
    secondary: Fleet

    async def publish(self) -> None:
        """And let the other read it."""
        await ActivityKeeping(self.primary.fleet, inline, lambda: True)()
        await ActivityKeeping(self.secondary, inline, lambda: True)()


@pytest.fixture
def pair(farm: MemoryFarm) -> Pair:
    other = Fleet(farm.store, farm.clock, farm.log, is_held=lambda: False)
    return Pair(farm, other)


async def test_runs_are_as_new_as_the_question(pair: Pair) -> None:
    await pair.primary.submit()
    assert [run.id for run in await pair.secondary.views.active()] == [run_id("a")]
    task = await pair.primary.granted()
    await pair.primary.fleet.update_task(call_of(task), Report(pairs(even=3)))
    for views in (pair.primary.fleet.views, pair.secondary.views):
        (run,) = await views.active()
        assert (run.tally.workers, run.tally.results.games) == (1, 6)


async def test_a_run_that_ended_is_not_among_those_at_play(pair: Pair) -> None:
    await pair.primary.submit()
    assert len(await pair.secondary.views.active()) == 1
    await pair.primary.fleet.commands.stop(run_id("a"), BOSS)
    assert await pair.secondary.views.active() == ()
    assert (await pair.secondary.views.known_run(run_id("a"))).status.finished


async def test_tasks_and_machines_are_those_of_the_primary(pair: Pair) -> None:
    await pair.primary.submit()
    task = await pair.primary.granted()
    await pair.publish()
    ours, theirs = pair.secondary.views, pair.primary.fleet.views
    assert await ours.tasks_at_play((run_id("a"),)) == (task,)
    assert await ours.last_seen((task,)) == await theirs.last_seen((task,))
    (known,) = await ours.machines()
    assert (known.machine, known.run) == (task.machine, run_id("a"))


async def test_of_very_many_signs_of_life_the_latest_are_published(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity, "MOST_MACHINES", 1)
    await pair.primary.submit()
    first, second = [await pair.primary.granted(make_machine(name)) for name in "ab"]
    pair.primary.clock.move(seconds=60)
    for task in (second, first):
        await pair.primary.fleet.beat(call_of(task))
    await pair.publish()
    seen = await pair.secondary.views.last_seen((first, second))
    assert seen[first.run, first.id] == pair.primary.clock.now()
    assert seen[second.run, second.id] == second.reported


async def test_a_machine_that_waits_is_known_once_it_was_published(pair: Pair) -> None:
    idle = make_machine("idle")
    await pair.primary.fleet.request_task(idle, limit=4)
    await pair.publish()
    ours, theirs = pair.secondary.views, pair.primary.fleet.views
    assert await ours.machine(idle.short_name) == await theirs.machine(idle.short_name)
    assert [(each.machine, each.task) for each in await ours.machines()] == [(idle, None)]


async def test_both_say_the_same_of_a_run_that_does_not_move(pair: Pair) -> None:
    await pair.primary.submit()
    await pair.primary.fleet.request_task(make_machine("small", cores=1), limit=0)
    await pair.publish()
    said = [
        await views.diagnosis(run_id("a"))
        for views in (pair.secondary.views, pair.primary.fleet.views)
    ]
    assert said[0] == said[1]


async def test_figures_come_with_their_age(pair: Pair) -> None:
    pair.primary.fleet.activity.speeds = {run_id("a"): RunSpeed(5.0, 2.0)}
    keeping = ActivityKeeping(pair.secondary, inline, lambda: True)
    await ActivityKeeping(pair.primary.fleet, inline, lambda: True)()
    await keeping()
    assert pair.secondary.activity.speed(run_id("a")) == RunSpeed(5.0, 2.0)
    assert not keeping.describe_age()
    assert keeping.describe_moment() == "as of 0 s ago"
    pair.primary.clock.move(seconds=20)
    assert "20 s ago" in keeping.describe_age()


async def test_the_age_of_what_machines_do_is_that_of_what_was_read(pair: Pair) -> None:
    await pair.publish()
    told = pair.primary.clock.now()
    ours, theirs = pair.secondary.views, pair.primary.fleet.views
    await ours.machines()
    pair.primary.clock.move(seconds=4)
    assert (ours.machines_since, theirs.machines_since) == (told, None)


async def test_a_server_that_is_alone_publishes_nothing(farm: MemoryFarm) -> None:
    await ActivityKeeping(farm.fleet, inline, lambda: False)()
    assert not farm.store.rows.published


async def test_commands_are_not_carried_out_without_the_lease(pair: Pair) -> None:
    await pair.primary.submit()
    with pytest.raises(Rebuilding):
        await pair.secondary.commands.stop(run_id("a"), BOSS)
