"""Whole lives of workers, with a server that stands in for a real one and real engines."""

import base64
import gzip
import json
import os
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rookery.core import __version__
from rookery.core.http_client import HeldCall
from rookery.core.http_failures import NoAnswer
from rookery.core.model.engine import EngineRecord
from rookery.core.protocol.worker_requests import REQUEST_TASK, UPDATE_TASK
from rookery.worker.engines.orders import BenchResult
from rookery.worker.engines.workshop import Workshop
from rookery.worker.preparing import RoundOutcome
from rookery.worker.sandbox.sandbox import NO_SANDBOX, BuiltEngine
from rookery.worker.server import HttpTransport
from rookery.worker.session import WrongServer
from rookery.worker.stopping import Stop, WorkerStatus
from tests.workers.fake_server import (
    BENCH,
    Body,
    FakeServer,
    fake_server,
    fledgling,
    games_in,
    record,
    task,
)
from tests.workers.in_process import run_worker
from tests.workers.processes import until, worker_process

IN_PARTS: Body = {"version": 325, "rookery": {"version": "1", "features": ["parts"]}}


def test_a_process_plays_reports_and_sends_the_games(tmp_path: Path) -> None:
    with fake_server(FakeServer(tasks=[fledgling(4, sprt={"batch_size": 1})])) as server:
        with worker_process(server.address, tmp_path, "--once") as worker:
            assert worker.ended() == 0, worker.said()
        assert server.names() == [
            "request_version",
            "request_task",
            "update_task",
            "update_task",
            "upload_pgn",
        ]
    first, second = server.of("update_task")
    assert (games_in(first), games_in(second)) == (2, 4)
    assert first["rookery"]["latency_ms"] > 0
    pgn = gzip.decompress(base64.b64decode(server.of("upload_pgn")[0]["pgn"])).decode()
    assert pgn.count("[Result ") == 4


def test_what_is_sent_is_what_a_server_reads(tmp_path: Path) -> None:
    server = FakeServer(tasks=[task(2)], games=2)
    run_worker(server, tmp_path)
    asked = REQUEST_TASK.read(json.dumps(server.of("request_task")[0]).encode())
    told = UPDATE_TASK.read(json.dumps(server.of("update_task")[0]).encode())
    assert asked.worker_info.rookery
    assert told.rookery
    assert told.rookery.runner == "builtin"
    assert told.worker_info.nps == 1_000_000


@pytest.mark.parametrize(
    ("tasks", "outcome", "told"),
    [
        ([], RoundOutcome.IDLE, "request_task"),
        ([task(new_signature="1")], RoundOutcome.RUN_FAULT, "stop_run"),
        ([task(tc="soon")], RoundOutcome.RUN_FAULT, "failed_task"),
        ([task(book="none.epd", book_depth="8")], RoundOutcome.MACHINE_FAULT, "failed_task"),
    ],
)
def test_a_failure_is_told_to_whom_it_concerns(
    tasks: list[Body], outcome: RoundOutcome, told: str, tmp_path: Path
) -> None:
    server = FakeServer(tasks=list(tasks))
    assert run_worker(server, tmp_path).outcome is outcome
    assert server.names()[-1] == told


def test_an_engine_that_can_not_be_made_is_told_of(tmp_path: Path) -> None:
    lacking = record() | {"recipe": {"kind": "installed", "output": "no-such-engine"}}
    server = FakeServer(tasks=[task(new_record=lacking)])
    shop = Workshop(tmp_path / "cache", sandbox=NO_SANDBOX)
    assert run_worker(server, tmp_path, shop=shop).outcome is RoundOutcome.MACHINE_FAULT
    assert "no-such-engine, which is not installed" in server.of("failed_task")[0]["message"]


def test_a_wrong_bench_names_both_counts(tmp_path: Path) -> None:
    server = FakeServer(tasks=[task(base_signature="77")])
    run_worker(server, tmp_path)
    complaint = server.of("stop_run")[0]
    assert "user expected: 77 but worker got: 1234" in complaint["message"]
    assert complaint["rookery"]["bench"] == 1234


def test_an_unreachable_server_is_its_own_fault(tmp_path: Path) -> None:
    server = FakeServer(answers={"request_task": lambda _: None})
    assert run_worker(server, tmp_path).outcome is RoundOutcome.SERVER_FAULT


def test_wrong_credentials_end_the_worker(tmp_path: Path) -> None:
    with pytest.raises(WrongServer, match="unknown user"):
        run_worker(FakeServer(greeting={"error": "unknown user"}), tmp_path)


def test_a_server_of_others_wants_a_flag(tmp_path: Path) -> None:
    with pytest.raises(WrongServer, match="--foreign-server"):
        run_worker(FakeServer(greeting={"version": 325}), tmp_path)


def test_a_batch_whose_answer_was_lost_is_sent_again_with_the_same_totals(tmp_path: Path) -> None:
    def lose_twice(_: Body) -> Body | None:
        return {"task_alive": False} if len(server.of("update_task")) > 2 else None

    server = FakeServer(tasks=[task(2)], answers={"update_task": lose_twice})
    assert run_worker(server, tmp_path).outcome is RoundOutcome.DONE
    first, second, third = server.of("update_task")
    assert first == second == third


def test_a_refused_result_ends_the_task_at_once(tmp_path: Path) -> None:
    server = FakeServer(
        tasks=[task(40, sprt={"batch_size": 1})],
        answers={"update_task": lambda _: {"error": "no", "task_alive": False}},
    )
    assert run_worker(server, tmp_path).outcome is RoundOutcome.MACHINE_FAULT
    assert len(server.of("update_task")) == 1
    assert server.names().count("failed_task") == 1


def test_the_server_ends_a_task_by_its_answer(tmp_path: Path) -> None:
    server = FakeServer(tasks=[task(4000, sprt={"batch_size": 1})], games=6)
    assert run_worker(server, tmp_path).outcome is RoundOutcome.DONE
    assert games_in(server.of("update_task")[-1]) == 6
    assert "failed_task" not in server.names()


def test_a_tune_asks_for_values_before_each_batch(tmp_path: Path) -> None:
    slot = {
        "w_params": [{"name": "Infos", "value": 2}],
        "b_params": [{"name": "Infos", "value": 1}],
        "sig": 7,
    }
    server = FakeServer(
        tasks=[task(4, spsa={}, tc="MT=20000", scaling="off")],
        answers={"request_spsa": lambda _: {"task_alive": True, "slots": [slot], "sig": 9}},
    )
    assert run_worker(server, tmp_path).outcome is RoundOutcome.DONE
    assert server.names()[2:] == ["request_spsa", "update_task"] * 2
    assert [body["rookery"] for body in server.of("request_spsa")] == [{"slots": 1}] * 2
    told = server.of("update_task")
    assert [games_in(body) for body in told] == [2, 4]
    assert [body["spsa"]["num_games"] for body in told] == [2, 2]
    assert told[0]["spsa"]["slots"][0]["sig"] == 7


def test_a_tune_that_is_over_asks_for_no_more(tmp_path: Path) -> None:
    over = {"request_spsa": lambda _: {"task_alive": False}}
    server = FakeServer(tasks=[task(4, spsa={})], answers={**over})
    assert run_worker(server, tmp_path).outcome is RoundOutcome.DONE
    assert server.names()[2:] == ["request_spsa"]


def test_an_engine_that_crashes_loses_that_game_and_is_spoken_of(tmp_path: Path) -> None:
    crashing = record("--misdeed", "crash=1")
    server = FakeServer(tasks=[task(4, new_record=crashing)])
    assert run_worker(server, tmp_path).outcome is RoundOutcome.DONE
    stats = server.of("update_task")[-1]["stats"]
    assert (stats["losses"], stats["crashes"]) == (4, 4)
    # The first, the second and the fourth.
    assert len(server.of("worker_log")) == 3


def test_a_worker_that_is_asked_to_leave_finishes_its_pair_and_gives_the_rest_back(
    tmp_path: Path,
) -> None:
    def leave(stop: Stop, status: WorkerStatus) -> None:
        if status.results.games and not stop.asked.is_set():
            stop.ask()

    server = FakeServer(tasks=[task(4000)], games=4000)
    assert run_worker(server, tmp_path, leave).outcome is RoundOutcome.STOPPED
    assert server.names()[2:] == ["update_task", "failed_task", "upload_pgn"]
    assert 2 <= games_in(server.of("update_task")[0]) < 400
    assert "is returned" in server.of("failed_task")[0]["message"]


def test_a_worker_that_leaves_reports_its_pairs_though_their_batch_is_not_whole(
    tmp_path: Path,
) -> None:
    def leave(stop: Stop, status: WorkerStatus) -> None:
        if status.results.games >= 4 and not stop.asked.is_set():
            stop.ask()

    server = FakeServer(tasks=[task(4000, sprt={"batch_size": 500})], games=4000, greeting=IN_PARTS)
    assert run_worker(server, tmp_path, leave).outcome is RoundOutcome.STOPPED
    assert server.names()[2:] == ["update_task", "failed_task", "upload_pgn"]
    assert 4 <= games_in(server.of("update_task")[0]) < 400


def test_pairs_that_were_played_when_the_run_ended_are_told_for_their_players_credit(
    tmp_path: Path,
) -> None:
    def over(_: Body) -> Body:
        # The last word of one who is slow to say it: more pairs are played meanwhile.
        time.sleep(1.0 if len(server.of("update_task")) == 1 else 0.0)
        return {"task_alive": False}

    server = FakeServer(
        tasks=[task(4000, sprt={"batch_size": 1})], answers={"update_task": over}, greeting=IN_PARTS
    )
    assert run_worker(server, tmp_path).outcome is RoundOutcome.DONE
    first, last = server.of("update_task")
    assert games_in(last) > games_in(first)


def test_a_second_interrupt_ends_a_process_at_once(tmp_path: Path) -> None:
    # The first game has begun and lasts longer than the test: somebody waits for it.
    server = FakeServer(tasks=[fledgling(4000, tc="MT=600000", scaling="off")], games=4000)
    with fake_server(server), worker_process(server.address, tmp_path, "--grace=6000") as worker:
        until(lambda: "master: playing" in worker.said(), worker)
        worker.interrupt()
        until(lambda: "finishing the last games" in worker.said(), worker)
        worker.interrupt()
        assert worker.ended() == 0
    assert "failed_task" not in server.names()


def test_games_that_last_longer_than_the_grace_period_are_given_back(tmp_path: Path) -> None:
    """Each game takes seconds, and the usual grace period is a minute."""

    def leave(stop: Stop, status: WorkerStatus) -> None:
        if status.doing == "playing" and not stop.asked.is_set():
            stop.ask()

    slow = record("--misdeed", "slow=1")
    server = FakeServer(tasks=[task(4, new_record=slow, tc="N=1")])
    assert run_worker(server, tmp_path, leave, grace=0.01).outcome is RoundOutcome.STOPPED
    assert "is returned" in server.of("failed_task")[0]["message"]
    assert not server.of("update_task")


@pytest.mark.parametrize(("seconds", "least", "most"), [(4, 3, 5), (100, 75, 125)])
def test_a_worker_waits_as_long_as_it_is_told_before_it_asks_again(
    seconds: float, least: int, most: int, tmp_path: Path
) -> None:
    waits: list[int] = []

    def note(stop: Stop, status: WorkerStatus) -> None:
        if found := re.search(r"asking again in (\d+) s", status.doing):
            waits.append(int(found[1]))
            stop.ask()

    server = FakeServer(answers={"request_version": lambda _: None})
    run_worker(server, tmp_path, note, once=False, retry_seconds=seconds)
    assert least <= waits[0] <= most


def test_a_worker_may_play_at_a_low_priority(tmp_path: Path) -> None:
    with fake_server(FakeServer()) as server:
        for words in ((), ("--nice",)):
            with worker_process(server.address, tmp_path, *words) as worker:
                until(lambda: "request_task" in server.names(), worker)
                nice = os.getpriority(os.PRIO_PROCESS, worker.process.pid)
            server.calls.clear()
            assert (nice > os.getpriority(os.PRIO_PROCESS, 0)) is bool(words)


def test_a_worker_uses_the_tablebases_in_the_folder_that_it_is_given(tmp_path: Path) -> None:
    server = FakeServer(tasks=[task(2, syzygy_men=3)])
    run_worker(server, tmp_path, syzygy=("/nowhere",), syzygy_men=3)
    assert "/nowhere" in server.of("failed_task")[0]["message"]


def test_a_cache_that_can_not_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    with fake_server(FakeServer()) as server, worker_process(server.address, tmp_path) as worker:
        assert worker.ended() == 2
    assert "cache can't be used" in worker.said()


def test_the_doctor_says_what_is_here(tmp_path: Path) -> None:
    with (
        fake_server(FakeServer()) as server,
        worker_process(server.address, tmp_path, "doctor") as worker,
    ):
        assert worker.ended() == 0, worker.said()
    assert f"{server.address} knows olga; it is Rookery 1" in worker.said()
    assert "Fledgling  yes" in worker.said()


def test_the_doctor_looks_at_the_fastchess_that_was_named(tmp_path: Path) -> None:
    program = tmp_path / "my-runner"
    program.write_text("#!/bin/sh\necho fastchess 1.8.1-alpha\n")
    program.chmod(0o700)
    with fake_server(FakeServer()) as server:
        words = ("doctor", f"--fastchess={program}")
        with worker_process(server.address, tmp_path / "here", *words) as worker:
            worker.ended()
        with worker_process(
            server.address, tmp_path / "gone", "doctor", "--fastchess=/none"
        ) as other:
            other.ended()
    assert f"fastchess 1.8.1-alpha, {program}" in worker.said()
    assert "/none is not there" in other.said()


def test_a_worker_says_at_its_start_who_it_is_and_for_whom_it_plays(tmp_path: Path) -> None:
    words = ("--once", "--key=mine")
    with (
        fake_server(FakeServer()) as server,
        worker_process(server.address, tmp_path, *words) as worker,
    ):
        worker.ended()
    line = f"olga-1cores-mine, Rookery {__version__}, plays for {server.address} on 1 core"
    assert line in worker.said().splitlines()[0]


def test_a_fleet_leaves_when_there_is_no_work(tmp_path: Path) -> None:
    server = FakeServer(tasks=[task(2)], games=2)
    assert run_worker(server, tmp_path, once=False, fleet=True).outcome is RoundOutcome.IDLE
    assert server.names().count("request_task") == 2


def test_a_fleet_goes_on_after_a_run_that_fails(tmp_path: Path) -> None:
    broken = task(2, new_engine="Nobody")
    del broken["run"]["args"]["new_record"]
    server = FakeServer(tasks=[broken, task(2)], games=2)
    assert run_worker(server, tmp_path, once=False, fleet=True).outcome is RoundOutcome.IDLE
    assert [games_in(body) for body in server.of("update_task")][-1:] == [2]


def test_a_fleet_leaves_a_server_that_stays_away(tmp_path: Path) -> None:
    def away(_: Body) -> Body | None:
        return None

    server = FakeServer(answers={"request_version": away})
    found = run_worker(server, tmp_path, once=False, fleet=True)
    assert found.outcome is RoundOutcome.SERVER_FAULT
    assert server.names() == ["request_version"] * 6


def test_a_call_that_is_held_can_be_left_and_the_server_sees_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor() as pool:
        transport = HttpTransport(f"http://127.0.0.1:{listening.getsockname()[1]}")
        held = HeldCall(seconds=600.0)
        answer = pool.submit(transport.post, "/api/request_task", b"{}", held)
        connection, _ = listening.accept()
        with connection:
            assert b"request_task" in connection.recv(65536)
            held.leave()
            while connection.recv(65536):
                pass
        with pytest.raises(NoAnswer):
            answer.result()


async def disturbed_bench(_built: BuiltEngine, _record: EngineRecord, **_: object) -> BenchResult:
    return BenchResult(int(BENCH), 1_000_000.0, spread=0.3)


KNOWS_NOISE: Body = {"version": 325, "rookery": {"version": "1", "features": ["noise"]}}


def noisy_in(server: FakeServer) -> list[bool]:
    """Whether the worker said that it is noisy, each time it asked for a task."""
    asked = (body["worker_info"]["rookery"] for body in server.of("request_task"))
    return [claimed.get("noisy", False) for claimed in asked]


def test_a_machine_found_to_be_noisy_gives_the_run_back_and_asks_for_others(
    tmp_path: Path,
) -> None:
    server = FakeServer(tasks=[task(2, tc="10+0.1"), task(2)], games=2, greeting=KNOWS_NOISE)
    run_worker(server, tmp_path, bench=disturbed_bench, once=False, fleet=True)
    assert "the speeds of its slots differ by 30%" in server.of("failed_task")[0]["message"]
    assert [games_in(body) for body in server.of("update_task")][-1:] == [2]
    assert noisy_in(server) == [False, True, True]


def test_a_machine_whose_owner_says_that_it_is_not_noisy_plays_on(tmp_path: Path) -> None:
    server = FakeServer(tasks=[task(2, tc="10+0.1")], games=2, greeting=KNOWS_NOISE)
    run_worker(server, tmp_path, bench=disturbed_bench, not_noisy=True)
    assert not server.of("failed_task")
    assert noisy_in(server) == [False]


def test_a_machine_whose_owner_says_that_it_is_noisy_says_so(tmp_path: Path) -> None:
    server = FakeServer()
    run_worker(server, tmp_path, noisy=True)
    assert noisy_in(server) == [True]


def test_a_run_that_no_machine_could_play_is_told_as_one(tmp_path: Path) -> None:
    broken = task(2, new_engine="Nobody")
    del broken["run"]["args"]["new_record"]
    server = FakeServer(tasks=[broken])
    assert run_worker(server, tmp_path).outcome is RoundOutcome.RUN_FAULT
    assert server.of("failed_task")[0]["rookery"]["blame"] == "run"
