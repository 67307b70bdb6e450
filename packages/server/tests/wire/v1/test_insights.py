"""What is known of a run besides its results, over the JSON API."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.engine import EngineRecord
from rookery.core.model.kinds import Report
from rookery.core.model.machine import ClaimedAbilities, Machine
from rookery.core.model.task import Provenance, Results, Task
from rookery.core.protocol.games import Ending, Game, Outcome
from rookery.server.farm.jobs import FleetJobs
from rookery.server.farm.rules.answers import HeldTask
from rookery.server.files.games import GameUpload
from tests.makers import make_machine, pairs
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, Json, open_api

pytestmark = pytest.mark.anyio

FIXED: Json = {"sprt": None, "num_games": 40_000}
ROUTES = ("diagnosis", "residuals", "samples", "bad_tasks", "provenance", "games")


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def shown(api: Api, run_id: str, what: str) -> dict[str, Any]:
    answer = await api.get(f"/api/v1/runs/{run_id}/{what}")
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def report(api: Api, task: Task, results: Results, runner: str = "builtin") -> None:
    how = Provenance(
        runner=runner, version="1", new_hash="n", base_hash="b", factor=1.5, latency_ms=2.0
    )
    call = HeldTask(task.run, task.id, task.machine)
    answer = await api.fleet.update_task(call, Report(results, provenance=how))
    assert not answer.error, answer


async def play(api: Api, machine: Machine, results: Results) -> Task:
    task = await api.granted(machine)
    api.clock.move(hours=1)
    await report(api, task, results)
    return task


async def test_a_run_says_why_it_is_idle(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    found = await shown(api, run_id, "diagnosis")
    assert (found["finding"], found["evidence"]) == ("awaiting approval", [])
    await api.post(f"/api/v1/runs/{run_id}/approve", BORIS)
    assert (await shown(api, run_id, "diagnosis"))["finding"] == "no workers"


async def test_who_stands_in_the_way_is_named_to_those_alone_who_may_know_it(api: Api) -> None:
    lead = Actor("olga")
    await api.site.teams.create("owls", lead)
    await api.site.engines.put(EngineRecord(name="owls~Strix", team="owls", private=True), lead)
    waiting = await api.submitted(BORIS, priority=-1)
    sides: Json = {"new_engine": "owls~Strix", "base_engine": "owls~Strix"}
    ahead = await api.submitted(OLGA, **sides)
    await api.fleet.commands.approve(ahead, Actor("boris", approver=True))
    able = ClaimedAbilities(system="linux", sandbox=True)
    machine = make_machine(user="olga", rookery=able, teams=frozenset({"owls"}))
    assert (await api.granted(machine)).run == ahead
    path = f"/api/v1/runs/{waiting}/diagnosis"
    stranger, member = await api.get(path, SVEN), await api.get(path, OLGA)
    assert member.json()["finding"] == "outranked"
    assert ahead in member.text
    assert ahead not in stranger.text
    assert "another run" in stranger.text


async def test_a_worker_that_differs_stands_first(api: Api) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    machines = [make_machine(name, cores=32) for name in "abcdefgh"]
    for machine in machines[:-1]:
        await play(api, machine, pairs(ld=30, even=100, wd=30))
    odd = await play(api, machines[-1], pairs(ld=80, even=40, wd=10))
    found = await shown(api, run_id, "residuals")
    workers = found["workers"]
    assert (workers[0]["worker"], workers[0]["colour"]) == (odd.machine.long_name, "red")
    assert {each["colour"] for each in workers[1:]} == {"green"}
    assert found["degrees"] == 14
    assert machines[0].key not in str(found)
    (second,) = (await shown(api, run_id, "residuals?page=2&size=1"))["workers"]
    assert second == workers[1]


async def test_too_little_is_not_judged(api: Api) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    await play(api, make_machine(), pairs(even=2))
    found = await shown(api, run_id, "residuals")
    assert "p_value" not in found
    assert "residual" not in str(found["workers"])


async def test_the_points_of_the_chart_are_told_in_order(api: Api) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    task = await play(api, make_machine(cores=4, nps=500_000.0), pairs(even=10))
    api.clock.move(hours=1)
    await FleetJobs(api.fleet).measure_speeds()
    await report(api, task, pairs(even=10, wd=10))
    samples = (await shown(api, run_id, "samples"))["samples"]
    assert [each["games"] for each in samples] == [20, 40]
    assert samples[-1]["pentanomial"] == [0, 0, 10, 10, 0]
    middle, low, high = samples[-1]["elo"]
    assert low < middle < high
    assert [each.get("nps") for each in samples] == [None, 2_000_000]


async def test_what_was_struck_out_is_shown_as_it_was(api: Api) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    await play(api, make_machine(), pairs(even=15, crashes=9))
    for move in ("stop", "purge"):
        assert (await api.post(f"/api/v1/runs/{run_id}/{move}", BORIS)).status_code == 200
    found = await shown(api, run_id, "bad_tasks")
    (task,) = found["tasks"]
    assert (task["results"]["crashes"], task["colour"], found["more"]) == (9, "red", False)


async def test_how_games_were_played_is_told_batch_by_batch(api: Api) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    task = await play(api, make_machine(), pairs(even=4))
    api.clock.move(hours=1)
    await report(api, task, pairs(even=10), runner="fastchess")
    found = await shown(api, run_id, "provenance")
    batches = found["batches"]
    assert [(each["runner"], each["games"]) for each in batches] == [
        ("builtin", 8),
        ("fastchess", 12),
    ]
    one = await shown(api, run_id, "provenance?size=1")
    assert (len(one["batches"]), one["more"]) == (1, True)


async def test_the_games_of_a_run_are_found_task_by_task(api: Api) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    game = Game(Outcome.WHITE, Ending.NORMAL, True, 61, b"12345678", 0)
    for task, number in ((1, 2), (0, 3)):
        pgn = GameUpload(run_id, task, f"blob {task}", 1, api.clock.now())
        await api.site.games.rows.add(pgn, (game,) * number)
    first = await shown(api, run_id, "games?size=4")
    games = first["games"]
    assert [(each["task"], each["number"]) for each in games] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert (first["more"], games[0]["outcome"]) == (True, "white")
    rest = await shown(api, run_id, "games?size=4&page=2")
    assert [(each["task"], each["number"]) for each in rest["games"]] == [(1, 1)]


async def test_a_task_tells_when_its_machine_was_heard_last(api: Api) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    task = await api.granted()
    api.clock.move(seconds=90)
    await api.fleet.beat(HeldTask(task.run, task.id, task.machine))
    for query in ("", f"?run={run_id}"):
        (entry,) = (await api.get(f"/api/v1/tasks{query}")).json()["tasks"]
        assert entry["seen"] > entry["reported"]


@pytest.mark.parametrize("route", ROUTES)
async def test_nothing_is_known_of_a_run_that_never_was(api: Api, route: str) -> None:
    assert (await api.get(f"/api/v1/runs/{'f' * 24}/{route}")).status_code == 404


@pytest.mark.parametrize("route", ROUTES[3:])
async def test_a_page_that_makes_no_sense_is_refused(api: Api, route: str) -> None:
    run_id = await api.submitted(BORIS, **FIXED)
    assert (await api.get(f"/api/v1/runs/{run_id}/{route}?size=0")).status_code == 400
