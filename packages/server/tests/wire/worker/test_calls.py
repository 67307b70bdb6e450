"""What each call answers, with the keys an official worker looks at."""

import gzip
import json
import os
from base64 import b64decode, b64encode

import pytest

from rookery.core.model.actor import Actor
from rookery.core.model.events import Action
from rookery.server.files.blobs import read_blob
from tests.makers import make_plan, make_side, pairs, run_id, sprt, spsa
from tests.twins.sites import make_user
from tests.wire.worker.farm import GAMES, ServedFarm, Worker

pytestmark = pytest.mark.anyio

LARGE_GAMES = b64encode(gzip.compress(os.urandom(300_000), 0)).decode()
ARGS = {
    "num_games": int, "tc": str, "new_tc": str, "threads": int, "new_tag": str, "base_tag": str,
    "resolved_new": str, "resolved_base": str, "tests_repo": str, "new_signature": str,
    "base_signature": str, "new_options": str, "base_options": str, "book": str,
    "book_depth": str, "adjudication": bool,
}  # fmt: skip


async def test_a_task_has_what_the_official_worker_reads(farm: ServedFarm) -> None:
    await farm.submit(kind=sprt(batch=16))
    answer = await farm.worker().request_task()
    assert answer["task_id"] == 0
    assert answer["run"]["_id"] == run_id("a")
    args = answer["run"]["args"]
    assert {name: type(args[name]) for name in ARGS} == ARGS
    assert args["sprt"]["batch_size"] == 16
    assert "spsa" not in args
    mine = answer["run"]["my_task"]
    assert set(mine["stats"]) == {
        "wins", "losses", "draws", "crashes", "time_losses", "pentanomial"
    }  # fmt: skip


async def test_the_kind_of_a_run_shows_by_the_keys_that_are_there(farm: ServedFarm) -> None:
    await farm.submit("tune", kind=spsa())
    args = (await farm.worker().request_task())["run"]["args"]
    assert "spsa" in args
    assert "sprt" not in args


async def test_a_worker_of_ours_is_spared_the_parameters_that_it_asks_for_later(
    farm: ServedFarm,
) -> None:
    await farm.submit("tune", kind=spsa())
    answer = await farm.worker(rookery={"version": "1", "os": "linux"}).request_task()
    assert answer["run"]["args"]["spsa"] == {}


async def test_a_worker_with_nothing_to_play_is_told_why(farm: ServedFarm) -> None:
    await farm.submit(plan=make_plan(threads=64))
    answer = await farm.worker().request_task()
    assert answer["task_waiting"] is False
    assert "64 threads" in answer["info"]


async def test_an_empty_house_says_just_that_there_is_nothing(farm: ServedFarm) -> None:
    assert set(await farm.worker().request_task()) == {"task_waiting", "duration"}


async def test_a_blocked_machine_reads_why(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await farm.parts.fleet.commands.block("wanda-8cores-1a2b3c4d", "too hot", Actor("b", True))
    answer = await worker.request_task()
    assert "too hot" in answer["error"]


async def test_a_user_has_no_more_machines_than_allowed(farm: ServedFarm) -> None:
    await farm.submit()
    await farm.change_user(machine_limit=2)
    for number in range(2):
        assert "run" in await farm.worker(key=f"{number:08x}").request_task()
    assert "error" in await farm.worker(key="ffffffff").request_task()


async def test_the_last_update_ends_the_task(farm: ServedFarm) -> None:
    await farm.submit(plan=make_plan(games=4))
    worker = farm.worker()
    assert (await worker.request_task())["run"]["my_task"]["num_games"] == 4
    answer = await worker.update(pairs(even=2))
    assert answer["task_alive"] is False
    assert "error" not in answer


async def test_a_result_that_cannot_be_is_refused_and_ends_the_task(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    refused = await worker.update(pairs(even=10_000))
    assert refused["task_alive"] is False
    assert "more games" in refused["error"]
    assert farm.stored().tally.workers == 0


async def test_a_failed_task_is_noted_and_a_second_failure_is_not(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    assert set(await worker.call("failed_task", message="no compiler")) == {"duration"}
    again = await worker.call("failed_task", message="no compiler")
    assert again["task_alive"] is False
    actions = [event.action for event in farm.parts.store.rows.events]
    assert actions.count(Action.FAILED_TASK) == 1


BENCH = "Wrong bench in stockfish-eb447fe60d-{}-old, user expected: 7777777 but worker got: 610513"


async def complain(worker: Worker, compiler: str) -> int:
    await worker.request_task()
    body = worker.body(**worker.ids, message=BENCH.format(compiler))
    return (await worker.send("stop_run", body)).status_code


async def test_two_users_with_the_same_wrong_bench_stop_a_run(farm: ServedFarm) -> None:
    await farm.submit()
    await make_user(farm.site.parts, "boris")
    assert await complain(farm.worker(), "g++_12_2_0-25b32ad706") == 401
    assert not farm.stored().status.finished
    assert await complain(farm.worker("boris"), "clang++_17-ffffffffff") == 200
    assert farm.stored().status.failed


async def test_invented_machines_of_one_user_stop_nobodys_run(farm: ServedFarm) -> None:
    await farm.submit()
    for key in ("aaaaaaaa", "bbbbbbbb", "cccccccc"):
        assert await complain(farm.worker(key=key), "g++") == 401
    assert not farm.stored().status.finished


async def test_accounts_that_have_given_nothing_stop_nobodys_run(farm: ServedFarm) -> None:
    await farm.submit()
    for name in ("boris", "carol", "doris"):
        await make_user(farm.site.parts, name)
        farm.parts.rules.unheard.add(name)
        assert await complain(farm.worker(name), "g++") == 401
    assert not farm.stored().status.finished


async def test_the_word_of_a_trusted_user_stops_a_run(farm: ServedFarm) -> None:
    await farm.submit()
    farm.parts.rules.trusted.add("wanda")
    worker = farm.worker()
    assert await complain(worker, "g++") == 200
    assert farm.stored().status.failed
    told = farm.parts.store.rows.events[-1]
    assert (told.action, told.actor, told.task) == (Action.STOP_RUN, "wanda", 0)
    assert told.worker.startswith("wanda-8cores-1a2b3c4d")


async def test_uploads_are_kept_as_they_came(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    await worker.call("upload_pgn", message="", pgn=GAMES)
    await worker.call("upload_pgn", message="", pgn=GAMES)
    (first, second) = farm.parts.pgns.rows
    assert first.blob != second.blob
    assert read_blob(farm.parts.blobs, first.blob).startswith(b"\x1f\x8b")
    assert first.size == len(read_blob(farm.parts.blobs, first.blob))


async def test_games_that_are_no_gzip_stream_are_refused(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    assert "error" in await worker.call("upload_pgn", message="", pgn="AAAA")


async def test_an_upload_that_breaks_off_does_not_make_a_runs_games_unreadable(
    farm: ServedFarm,
) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    for pgn in (GAMES, b64encode(b64decode(GAMES)[:-9]).decode(), GAMES):
        answer = await worker.call("upload_pgn", message="", pgn=pgn)
        assert ("error" in answer) is (pgn != GAMES)
    # A run's games are its uploads, one behind the other.
    rows = await farm.parts.pgns.of_run(run_id("a"))
    games = gzip.decompress(b"".join(read_blob(farm.parts.blobs, row.blob) for row in rows))
    assert games == 2 * gzip.decompress(b64decode(GAMES))


async def test_a_large_upload_goes_through_a_file(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    large = gzip.compress(b"x" * 400_000, 0)
    said = await worker.call("upload_pgn", message="", pgn=b64encode(large).decode())
    assert set(said) == {"duration"}
    assert farm.parts.pgns.rows[0].size == len(large)


async def test_a_body_that_is_too_large_is_refused(farm: ServedFarm) -> None:
    worker = farm.worker()
    answer = await worker.send("beat", worker.body(run_id="x" * 100_000))
    assert answer.status_code == 413


async def test_a_worker_may_say_something_about_its_task_or_in_general(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.call("worker_log", message="hello")
    await worker.request_task()
    await worker.call("worker_log", message="an engine is slow")
    general, about = [
        event for event in farm.parts.store.rows.events if event.action == "worker_log"
    ]
    assert (general.run, general.message) == ("", "hello")
    assert (about.run, about.task) == (run_id("a"), 0)


async def test_unknown_keys_are_passed_over(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker(microcode="0x1")
    worker.info["worker_arch"] = "x86-64-avx1024"
    assert "run" in await worker.request_task()
    assert (await worker.call("beat", mood="good"))["task_alive"] is True


async def test_a_worker_of_ours_gets_final_values_for_its_slots(farm: ServedFarm) -> None:
    await farm.submit(kind=spsa())
    worker = farm.worker(rookery={"version": "1", "os": "linux"})
    await worker.request_task()
    drawn = await worker.call("request_spsa", rookery={"slots": 3})
    assert len(drawn["slots"]) == 3
    assert "w_params" not in drawn


async def test_the_provenance_of_a_batch_is_kept(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker(rookery={"version": "1", "os": "linux"})
    await worker.request_task()
    said = {"runner": "fastchess", "runner_version": "1.2", "factor": 1.25}
    await worker.update(pairs(even=2), rookery=said)
    await worker.update(pairs(even=2), rookery=said)
    await worker.update(pairs(even=3), rookery=said)
    kept = farm.parts.store.rows.provenance
    assert [each.games for each in kept] == [4, 2]
    assert (kept[0].runner, kept[0].factor) == ("fastchess", 1.25)


async def test_a_custom_repository_and_tc_reach_the_worker(farm: ServedFarm) -> None:
    sides = (
        make_side("idea", repository="https://my.host/src/fish"),
        make_side("master", repository="https://my.host/src/fish"),
    )
    await farm.submit(plan=make_plan(sides=sides))
    args = (await farm.worker().request_task())["run"]["args"]
    assert args["tests_repo"] == "https://my.host/src/fish"
    assert "new_repo" not in args


async def test_games_of_a_known_worker_are_taken_apart_as_they_come(farm: ServedFarm) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    assert set(await worker.call("upload_pgn", message="", pgn=LARGE_GAMES)) == {"duration"}
    (row,) = farm.parts.pgns.rows
    packed = b64decode(LARGE_GAMES)
    assert (row.size, read_blob(farm.parts.blobs, row.blob)) == (len(packed), packed)


@pytest.mark.parametrize(
    "text", ["H4sI" + "A" * 99_999, "H4sI" + "=" * 100_000, "AAAA" * 30_000, LARGE_GAMES[:-400]]
)
async def test_games_that_can_not_be_read_leave_nothing_behind(farm: ServedFarm, text: str) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    assert "error" in await worker.call("upload_pgn", message="", pgn=text)
    assert not farm.parts.pgns.rows
    assert not list(farm.parts.blobs.list_all())


async def test_large_games_for_a_task_of_another_leave_nothing_behind(farm: ServedFarm) -> None:
    await farm.submit()
    worker, other = farm.worker(), farm.worker(key="99999999")
    await worker.request_task()
    other.ids = worker.ids
    assert "error" in await other.call("upload_pgn", message="", pgn=LARGE_GAMES)
    assert not list(farm.parts.blobs.list_all())


async def test_whoever_is_named_at_the_end_of_a_large_body_must_be_known_too(
    farm: ServedFarm,
) -> None:
    await farm.submit()
    worker = farm.worker()
    await worker.request_task()
    body = worker.body(**worker.ids, pgn=LARGE_GAMES, passwort="x")
    twice = json.dumps(body).encode().replace(b"passwort", b"password")
    assert (await worker.send("upload_pgn", twice)).status_code == 401
    assert not farm.parts.pgns.rows


async def test_a_noisy_worker_gets_fixed_nodes_and_nothing_on_the_clock(farm: ServedFarm) -> None:
    await farm.submit("timed")
    noisy = farm.worker(rookery={"version": "1", "noisy": True})
    assert (await noisy.request_task())["task_waiting"] is False
    nodes = await farm.submit("nodes", plan=make_plan(tc="N=1000"))
    assert (await noisy.request_task())["run"]["_id"] == nodes.id


async def test_an_official_worker_plays_on_the_clock(farm: ServedFarm) -> None:
    timed = await farm.submit("timed")
    assert (await farm.worker().request_task())["run"]["_id"] == timed.id


async def test_a_run_that_no_machine_can_play_is_stopped_after_two(farm: ServedFarm) -> None:
    await make_user(farm.parts, "boris")
    await farm.submit()
    for name in ("wanda", "boris"):
        assert not farm.stored().status.failed
        worker = farm.worker(name, rookery={"version": "1"})
        await worker.request_task()
        message = "The server has no net nn-1.nnue."
        await worker.call("failed_task", message=message, rookery={"blame": "run"})
    assert farm.stored().status.failed
