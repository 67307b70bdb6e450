"""Tasks, workers, actions and users over the JSON API, and what nobody may read there."""

from collections.abc import AsyncIterator
from dataclasses import replace

import msgspec
import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.machine import ClaimedAbilities
from rookery.core.protocol import people, v1
from rookery.server.farm.jobs import FleetJobs
from rookery.server.farm.statistics_rows import Contributor, Period
from rookery.server.identity.users import Scope
from tests.makers import NOW, make_machine
from tests.people import BORIS, OLGA
from tests.twins.records import MemoryStatistics
from tests.wire.apis import Api, open_api

pytestmark = pytest.mark.anyio

BORIS_ACTING = Actor("boris", approver=True)
SECRETIVE = make_machine(
    address="203.0.113.99", rookery=ClaimedAbilities(host="hidden"), seal="sealed"
)
PUBLIC = (
    "/api/v1/runs",
    "/api/v1/runs?state=finished",
    "/api/v1/runs/{run}",
    "/api/v1/runs/{run}/summary.txt",
    "/api/v1/tasks",
    "/api/v1/tasks?run={run}",
    "/api/v1/workers",
    "/api/v1/actions",
    "/api/v1/contributors",
)


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def test_tasks_are_listed_at_play_and_by_run(api: Api) -> None:
    run_id = await api.submitted()
    task = await api.granted()
    for query in ("", f"?run={run_id}"):
        answer = await api.get(f"/api/v1/tasks{query}")
        (entry,) = msgspec.json.decode(answer.content, type=v1.TaskList).tasks
        assert (entry.run, entry.id, entry.user) == (run_id, task.id, "wanda")


async def test_the_tasks_of_an_unknown_run_are_not_found(api: Api) -> None:
    assert (await api.get(f"/api/v1/tasks?run={'f' * 24}")).status_code == 404
    assert (await api.get("/api/v1/tasks?run=x")).status_code == 400


async def test_machines_are_listed_with_what_they_play(api: Api) -> None:
    run_id = await api.submitted()
    task = await api.granted()
    answer = await api.get("/api/v1/workers")
    (worker,) = msgspec.json.decode(answer.content, type=v1.WorkerList).workers
    assert (worker.name, worker.run, worker.cores) == (task.machine.short_name, run_id, 4)


async def test_why_a_machine_is_blocked_is_told_to_approvers_only(api: Api) -> None:
    await api.fleet.commands.block("wanda-4cores-6d000000", "bad memory", BORIS_ACTING)
    for reader, message in ((None, ""), (OLGA, ""), (BORIS, "bad memory")):
        answer = await api.get("/api/v1/workers", reader)
        (worker,) = msgspec.json.decode(answer.content, type=v1.WorkerList).workers
        assert (worker.blocked, worker.message) == (True, message)


async def test_actions_are_listed_newest_first(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    api.clock.move(seconds=10)
    await api.post(f"/api/v1/runs/{run_id}/approve", BORIS)
    answer = await api.get("/api/v1/actions")
    actions = msgspec.json.decode(answer.content, type=v1.ActionList).actions
    assert [(each.action, each.actor) for each in actions] == [
        ("approve_run", "boris"),
        ("new_run", "olga"),
    ]


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("?action=new_run", 1),
        ("?actor=boris", 2),
        ("?actor=nobody", 0),
        ("?size=1", 1),
        ("?before=2029-01-01T00:00Z", 0),
        ("?before=2031-01-01T00:00Z", 2),
    ],
)
async def test_actions_are_filtered(api: Api, query: str, count: int) -> None:
    await api.submitted(BORIS)
    answer = await api.get(f"/api/v1/actions{query}")
    assert len(msgspec.json.decode(answer.content, type=v1.ActionList).actions) == count


@pytest.mark.parametrize("query", ["?before=yesterday", "?run=x", "?size=0"])
async def test_a_bad_filter_is_refused(api: Api, query: str) -> None:
    assert (await api.get(f"/api/v1/actions{query}")).status_code == 400


async def test_contributors_are_listed_with_their_present_pace(api: Api) -> None:
    given = Contributor("wanda", 640, 12.5, 1, NOW)
    statistics = api.site.statistics
    assert isinstance(statistics, MemoryStatistics)
    statistics.contributors[Period.MONTH] += [given, replace(given, user_name="zed")]
    await api.submitted()
    await api.granted(make_machine(user="wanda", nps=628_000.0))
    await FleetJobs(api.fleet).measure_speeds()
    answer = await api.get("/api/v1/contributors?period=month&size=1")
    page = msgspec.json.decode(answer.content, type=v1.ContributorList)
    (wanda,) = page.contributors
    assert (wanda.user, wanda.games, wanda.core_hours, page.more) == ("wanda", 640, 12.5, True)
    assert wanda.games_per_hour > 0
    rest = (await api.get("/api/v1/contributors")).content
    assert msgspec.json.decode(rest, type=v1.ContributorList).contributors == ()


async def test_users_are_listed_to_users(api: Api) -> None:
    assert (await api.get("/api/v1/users")).status_code == 401
    answer = await api.get("/api/v1/users", OLGA)
    users = msgspec.json.decode(answer.content, type=people.UserList).users
    assert [user.name for user in users] == ["boris", "olga", "sven"]
    assert all(user.blocked is msgspec.UNSET for user in users)


async def test_approvers_see_who_is_blocked(api: Api) -> None:
    answer = await api.get("/api/v1/users", BORIS)
    users = msgspec.json.decode(answer.content, type=people.UserList).users
    assert [user.blocked for user in users] == [False, False, False]


async def test_no_answer_holds_an_address_a_key_or_a_hash(api: Api) -> None:
    run_id = await api.submitted()
    await api.granted(SECRETIVE)
    texts = [(await api.get(path.format(run=run_id))).text for path in PUBLIC]
    texts += [(await api.get("/api/v1/users", user)).text for user in (OLGA, BORIS)]
    for secret in ("203.0.113.99", "@example.org", SECRETIVE.key, "argon2", "hidden", "sealed"):
        assert not any(secret in text for text in texts), secret


async def test_a_token_for_submitting_reads_no_users(api: Api) -> None:
    token = await api.token(OLGA, frozenset({Scope.SUBMIT}))
    headers = {"authorization": f"Bearer {token}"}
    assert (await api.visitor.get("/api/v1/users", headers=headers)).status_code == 403
