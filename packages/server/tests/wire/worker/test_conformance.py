"""The conformance checklist of the contract (section 20), as far as it is about these endpoints."""

from dataclasses import replace

import pytest

from rookery.server.farm.commits import StateLost
from rookery.server.farm.jobs import FleetJobs
from tests.makers import BOSS, pairs, run_id, sprt, spsa
from tests.twins.people import MemoryUsers
from tests.twins.sites import make_user
from tests.wire.worker.farm import (
    GAMES,
    PATHS,
    ServedFarm,
    Worker,
    is_retryable,
    open_farm,
    understood,
)

pytestmark = pytest.mark.anyio

FORGIVEN = ("request_version", "beat")
"""A worker ends at an error of the one, and gives its task up at an error of the other."""
NOBODY = {"run_id": "f" * 24, "task_id": 0}


DRAWN = {
    "wins": 0, "losses": 0, "draws": 2, "crashes": 0, "time_losses": 0,
    "pentanomial": [0, 0, 1, 0, 0],
}  # fmt: skip
EXTRA: dict[str, dict[str, object]] = {
    "update_task": {"stats": DRAWN},
    "failed_task": {"message": "no compiler"},
    "stop_run": {"message": "wrong bench"},
    "upload_pgn": {"message": "", "pgn": GAMES},
    "worker_log": {"message": "slow"},
}


def extra(path: str) -> dict[str, object]:
    """What a call of that path carries besides."""
    return EXTRA.get(path, {})


BODIES: tuple[object, ...] = (
    {},
    {"password": "x"},
    {"worker_info": {}},
    {"password": 1, "worker_info": []},
)
TASK_PATHS = PATHS[2:]


# 1 and 2: whatever is asked, an object with a duration and without a null


@pytest.mark.parametrize("path", PATHS)
async def test_bad_json_is_answered_with_a_duration(farm: ServedFarm, path: str) -> None:
    for body in (b"", b"{", b"[]", b"\xff", b'"text"', b"{}" * 3, b"[" * 1000):
        answer = await farm.worker().send(path, body)
        assert answer.status_code == 400
        said = understood(answer)
        assert ("error" in said) == (path != "request_version")


@pytest.mark.parametrize("path", PATHS)
async def test_a_missing_field_is_answered_with_a_duration(farm: ServedFarm, path: str) -> None:
    worker = farm.worker()
    for body in BODIES:
        answer = await worker.send(path, body)
        assert answer.status_code == 400
        understood(answer)


@pytest.mark.parametrize("path", PATHS)
async def test_a_wrong_password_is_refused_with_a_duration(farm: ServedFarm, path: str) -> None:
    worker = farm.worker()
    worker.password = "wrong"
    answer = await worker.send(path, worker.body(**NOBODY, **extra(path)))
    assert answer.status_code == 401
    assert "error" in understood(answer)


@pytest.mark.parametrize("path", PATHS)
async def test_a_stranger_hears_of_the_credentials_first(farm: ServedFarm, path: str) -> None:
    """The rest of the body is bad too, but that is nobody's business."""
    body = {"password": "wrong", "worker_info": {"username": "wanda"}, "run_id": 7}
    answer = await farm.worker().send(path, body)
    assert answer.status_code == 401


@pytest.mark.parametrize("path", TASK_PATHS)
async def test_an_unknown_run_is_refused_with_a_duration(farm: ServedFarm, path: str) -> None:
    worker = farm.worker()
    answer = await worker.send(path, worker.body(**NOBODY, **extra(path)))
    assert answer.status_code == 400
    assert "error" in understood(answer)


@pytest.mark.parametrize("path", TASK_PATHS)
async def test_an_unknown_task_is_refused_with_a_duration(farm: ServedFarm, path: str) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    worker.ids["task_id"] = 7
    answer = await worker.send(path, worker.body(**worker.ids, **extra(path)))
    assert answer.status_code == 400
    assert "error" in understood(answer)


@pytest.mark.parametrize("thief", [("wanda", "deadbeef"), ("otto", "1a2b3c4d")])
@pytest.mark.parametrize("path", TASK_PATHS)
async def test_nobody_touches_the_task_of_another(
    farm: ServedFarm, path: str, thief: tuple[str, str]
) -> None:
    """Neither another machine of the same user, nor another user with the machine's key."""
    await make_user(farm.site.parts, "otto")
    await farm.submit()
    await nobody_else(farm, path, farm.worker(*thief))


async def nobody_else(farm: ServedFarm, path: str, thief: Worker) -> None:
    worker = farm.worker()
    await worker.request_task()
    answer = await thief.send(path, thief.body(**worker.ids, **extra(path)))
    assert answer.status_code == 400
    assert "error" in understood(answer)
    assert (await worker.beat())["task_alive"] is True
    assert farm.stored().tally.results.games == 0


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize("path", PATHS)
async def test_a_wrong_method_is_answered_with_a_duration(
    farm: ServedFarm, path: str, method: str
) -> None:
    answer = await farm.site.browser.request(method, f"/api/{path}")
    assert answer.status_code == 405
    assert ("error" in understood(answer)) == (path != "request_version")


@pytest.mark.parametrize("path", PATHS)
async def test_a_mistake_of_ours_is_answered_with_a_duration(farm: ServedFarm, path: str) -> None:
    object.__setattr__(farm.parts, "credentials", Broken())
    worker = farm.worker()
    answer = await worker.send(path, worker.body(**NOBODY, **extra(path)))
    assert answer.status_code == 500
    assert ("error" in understood(answer)) == (path not in FORGIVEN)


@pytest.mark.parametrize("path", PATHS[1:])
async def test_so_is_one_that_comes_after_the_greeting(farm: ServedFarm, path: str) -> None:
    worker = farm.worker()
    await worker.version()
    object.__setattr__(farm.parts, "pgn_store", Broken())
    object.__setattr__(farm.parts, "fleet", Broken())
    answer = await worker.send(path, worker.body(**NOBODY, **extra(path)))
    assert answer.status_code == 500
    assert ("error" in understood(answer)) == (path not in FORGIVEN)


async def test_a_worker_goes_on_after_a_mistake_at_its_greeting(farm: ServedFarm) -> None:
    object.__setattr__(farm.parts, "credentials", Broken())
    assert (await farm.worker().version())["version"] == 325


@pytest.mark.parametrize("path", PATHS[1:])
async def test_a_state_that_is_read_anew_makes_a_worker_try_again(
    farm: ServedFarm, path: str
) -> None:
    worker = farm.worker()
    await worker.version()
    object.__setattr__(farm.parts, "pgn_store", Broken(StateLost))
    object.__setattr__(farm.parts, "fleet", Broken(StateLost))
    answer = await worker.send(path, worker.body(**NOBODY, **extra(path)))
    assert answer.status_code == 503
    assert is_retryable(answer)


class Broken:
    """Whatever is asked of it, it fails."""

    def __init__(self, error: type[Exception] = ZeroDivisionError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> object:
        raise self._error(name)


# 3: request_version


async def test_the_version_is_one_that_no_official_worker_updates_from(farm: ServedFarm) -> None:
    answer = await farm.worker().version()
    assert answer["version"] == 325
    assert answer["rookery"]["version"]


@pytest.mark.parametrize("state", ["blocked", "pending"])
async def test_credentials_are_the_only_error_of_request_version(
    farm: ServedFarm, state: str
) -> None:
    await farm.change_user(**{state: True})
    assert "This account" in (await farm.worker().version())["error"]


async def test_plain_text_while_the_server_stops(farm: ServedFarm) -> None:
    farm.site.parts.lifecycle.stop()
    worker = farm.worker()
    assert is_retryable(await worker.send("request_version", worker.body()))


async def test_plain_text_when_the_primacy_went_while_the_answer_waited(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.version()
    farm.parts.rules.primary = False
    assert is_retryable(await worker.send("request_task", worker.body()))


# 5: sizes and starts


async def test_starts_are_contiguous_and_sizes_whole_batches(farm: ServedFarm) -> None:
    await farm.submit(kind=sprt(batch=16))
    end = 0
    for number in range(5):
        task = (await farm.worker(key=f"0000000{number}").request_task())["run"]["my_task"]
        assert task["start"] == end
        assert task["num_games"] % 32 == 0
        end += task["num_games"]


# 7: a worker that was started again


async def test_a_worker_started_again_waits_two_minutes(farm: ServedFarm) -> None:
    await farm.submit()
    first, again = farm.worker(), farm.worker()
    again.info["unique_key"] = first.info["unique_key"][:-1] + "d"
    await first.request_task()
    refused = await again.request_task()
    assert "error" in refused
    assert refused["task_waiting"] is False
    farm.clock.move(seconds=121)
    assert "run" in await again.request_task()
    assert (await first.beat())["task_alive"] is False


# 8: repeats


@pytest.mark.parametrize("kind", ["fixed", "sprt"])
async def test_the_same_update_twice_counts_once(farm: ServedFarm, kind: str) -> None:
    await farm.submit(kind=sprt() if kind == "sprt" else None)
    worker = farm.worker()
    await worker.request_task()
    for _ in range(3):
        assert (await worker.update(pairs(even=2)))["task_alive"] is True
    assert farm.stored().tally.results == pairs(even=2)


async def test_the_same_batch_of_a_tune_twice_moves_it_once(farm: ServedFarm) -> None:
    await farm.submit(kind=spsa())
    worker = farm.worker()
    await worker.request_task()
    sig = (await worker.call("request_spsa"))["sig"]
    batch = {"num_games": 4, "wins": 4, "losses": 0, "draws": 0, "sig": sig}
    for _ in range(2):
        assert (await worker.update(pairs(ww=2), spsa=batch))["task_alive"] is True
    kind = farm.stored().kind
    assert getattr(kind, "tune").iteration == 2  # noqa: B009 - of a tune alone


# 9: after the end


async def test_what_was_played_while_the_run_ended_counts_for_its_player_alone(
    farm: ServedFarm,
) -> None:
    run = await farm.submit(kind=sprt(elo1=200))
    winner, other, stranger = (farm.worker(key=f"0000000{n}") for n in range(3))
    for worker in (winner, other):
        await worker.request_task()
    farm.clock.move(seconds=600)
    await other.update(pairs(even=1))
    assert (await winner.update(pairs(ww=20)))["task_alive"] is False
    before = farm.stored()
    assert before.status.finished
    stranger.ids = other.ids
    assert (await stranger.update(pairs(even=4)))["task_alive"] is False
    late = await other.update(pairs(even=4))
    assert late["task_alive"] is False
    assert "6 late games" in late["info"]
    await other.update(pairs(even=4))
    assert farm.parts.statistics.late == {(run.id, 1): 6}
    assert farm.stored() == before


async def test_late_games_that_can_not_be_true_count_for_nobody(farm: ServedFarm) -> None:
    await farm.submit(kind=sprt(elo1=200))
    winner, other = farm.worker(key="00000000"), farm.worker(key="00000001")
    await winner.request_task()
    farm.clock.move(seconds=600)
    await other.request_task()
    await winner.update(pairs(ww=20))
    for told in (pairs(even=4), pairs(even=4000)):
        assert (await other.update(told))["task_alive"] is False
    farm.clock.move(seconds=7200)
    assert (await other.update(pairs(even=4)))["task_alive"] is False
    assert farm.parts.statistics.late == {}


async def test_after_a_stop_tasks_are_over_without_an_error_and_games_still_come(
    farm: ServedFarm,
) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    await farm.parts.fleet.commands.stop(run_id("a"), BOSS)
    for answer in (await worker.beat(), await worker.update(pairs(even=1))):
        assert answer["task_alive"] is False
        assert "error" not in answer
    assert set(await worker.call("upload_pgn", message="", pgn=GAMES)) == {"duration"}
    assert len(farm.parts.pgns.rows) == 1


# 11: a tune and a strange signature


async def test_games_with_a_strange_signature_count_but_move_nothing(farm: ServedFarm) -> None:
    await farm.submit(kind=spsa())
    worker = farm.worker()
    await worker.request_task()
    drawn = await worker.call("request_spsa")
    assert {"name", "value", "c", "R", "flip"} == set(drawn["w_params"][0])
    assert {"name", "value"} == set(drawn["b_params"][0])
    batch = {"num_games": 2, "wins": 2, "losses": 0, "draws": 0, "sig": drawn["sig"] ^ 1}
    await worker.update(pairs(ww=1), spsa=batch)
    stored = farm.stored()
    assert stored.tally.results == pairs(ww=1)
    assert getattr(stored.kind, "tune").thetas == (100.0,)  # noqa: B009 - of a tune alone


# 6 and 13: silence, and a restart of the server


async def test_a_silent_workers_games_count_and_the_rest_is_played_by_others(
    farm: ServedFarm,
) -> None:
    await farm.submit()
    silent = farm.worker()
    first = await silent.request_task()
    await silent.update(pairs(even=2))
    farm.clock.move(seconds=361)
    await FleetJobs(farm.parts.fleet).end_dead_tasks()
    stored = farm.stored()
    assert (stored.tally.workers, stored.tally.committed, stored.tally.results.games) == (0, 4, 4)
    late = await silent.update(pairs(even=4))
    assert (late["task_alive"], "error" in late) == (False, False)
    next_one = await farm.worker(key="99999999").request_task()
    assert next_one["run"]["my_task"]["start"] == first["run"]["my_task"]["num_games"]


async def test_running_tasks_are_recognised_after_a_restart(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    users = farm.parts.users
    assert isinstance(users, MemoryUsers)
    async with open_farm(users, farm.clock, farm.parts.store) as again:
        same = replace(worker, browser=again.site.browser)
        assert (await same.beat())["task_alive"]
        assert (await same.update(pairs(even=2)))["task_alive"]
    assert farm.stored().tally.results == pairs(even=2)
