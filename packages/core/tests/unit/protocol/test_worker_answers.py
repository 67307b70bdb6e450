"""What workers are told."""

import json

import pytest
from msgspec import UNSET, Raw

from rookery.core.protocol import worker_answers
from rookery.core.protocol.codec import BadField, encode, encode_timed
from rookery.core.protocol.kinds.sprt import SprtTask
from rookery.core.protocol.runs import TASK_ARGS, fold, list_given
from rookery.core.protocol.worker_answers import (
    AliveAnswer,
    EndAnswer,
    GrantedRun,
    MyTask,
    RookeryServer,
    SpsaAnswer,
    TaskAnswer,
    VersionAnswer,
    WorkerAnswer,
    make_spsa_slots,
    make_spsa_values,
    make_waiting_answer,
    refuse_task,
    refuse_update,
)
from rookery.core.stats.spsa import PerturbationDraw, new_tune, perturb, perturb_final
from tests.unit.protocol.samples import NO_GAMES, RUN_ID, body

ARGS: dict[str, object] = {
    "num_games": 800_000,
    "tc": "10+0.1",
    "new_tc": "10+0.1",
    "threads": 1,
    "new_tag": "idea1",
    "base_tag": "master",
    "resolved_new": "a" * 40,
    "resolved_base": "b" * 40,
    "tests_repo": "https://github.com/alice/Stockfish",
    "new_signature": "2050811",
    "base_signature": "2050811",
    "new_options": "Hash=16",
    "base_options": "Hash=16",
    "book": "UHO_Lichess_4852_v1.epd",
    "book_depth": "8",
    "book_sri": "x" * 64,
    "sprt": {"batch_size": 16},
}
MINE = MyTask(num_games=480, start=12800, stats=NO_GAMES)
GRANT = TaskAnswer(run=GrantedRun(id=RUN_ID, args=Raw(encode(ARGS)), my_task=MINE), task_id=41)
TUNE = new_tune("P,100,0,200,20,0.002\nQ,50,0,99,5,0.002", 60_000)


def sent(answer: WorkerAnswer) -> dict[str, object]:
    decoded: dict[str, object] = json.loads(encode_timed(answer, seconds=0.5))
    return decoded


def test_the_version_comes_with_a_word_about_the_house() -> None:
    answer = VersionAnswer(version=325, rookery=RookeryServer("0.1", ("slots",)))
    assert sent(answer) == {
        "version": 325,
        "rookery": {"version": "0.1", "features": ["slots"]},
        "duration": 0.5,
    }


def test_a_granted_task_is_spelt_as_the_worker_reads_it() -> None:
    answer = sent(GRANT)
    assert set(answer) == {"run", "task_id", "duration"}
    assert isinstance(answer["run"], dict)
    assert set(answer["run"]) == {"_id", "args", "my_task"}
    assert answer["run"]["my_task"]["stats"]["pentanomial"] == [0, 0, 0, 0, 0]


def test_nothing_to_do_is_said_by_a_key() -> None:
    assert sent(make_waiting_answer()) == {"task_waiting": False, "duration": 0.5}
    assert sent(make_waiting_answer("busy")) == {
        "task_waiting": False,
        "info": "busy",
        "duration": 0.5,
    }


def test_refusals_say_that_the_task_is_over() -> None:
    assert sent(refuse_task("no")) == {"task_waiting": False, "error": "no", "duration": 0.5}
    assert sent(refuse_update("no")) == {"task_alive": False, "error": "no", "duration": 0.5}


@pytest.mark.parametrize("alive", [True, False])
def test_task_alive_is_always_there(alive: bool) -> None:
    assert sent(AliveAnswer(task_alive=alive)) == {"task_alive": alive, "duration": 0.5}
    assert sent(SpsaAnswer(task_alive=alive)) == {"task_alive": alive, "duration": 0.5}


def test_an_end_is_acknowledged_by_a_duration() -> None:
    assert sent(EndAnswer()) == {"duration": 0.5}


def test_official_workers_get_values_with_their_steps() -> None:
    answer = sent(make_spsa_values(TUNE, perturb(TUNE, b"\x80")))
    assert isinstance(answer["w_params"], list)
    assert answer["w_params"][0] == {
        "name": "P",
        "value": pytest.approx(156.6525213),
        "c": pytest.approx(56.6525213),
        "R": pytest.approx(0.00105556),
        "flip": 1,
    }
    assert answer["b_params"] == [
        {"name": "P", "value": pytest.approx(43.3474787)},
        {"name": "Q", "value": pytest.approx(64.1631303)},
    ]
    assert answer["sig"] == perturb(TUNE, b"\x80").issued.signature


def test_our_workers_get_whole_values_for_each_slot() -> None:
    drawn = perturb_final(
        TUNE, [PerturbationDraw(b"\x80", (0.5, 0.5)), PerturbationDraw(b"\xc0", (0.5, 0.5))]
    )
    answer = make_spsa_slots(TUNE, drawn)
    assert answer.slots is not UNSET
    assert [slot.w_params[0].value for slot in answer.slots] == [157, 157]
    assert [slot.w_params[1].value for slot in answer.slots] == [36, 64]
    assert b".0" not in encode(answer.slots)


@pytest.mark.parametrize("answer", [GRANT, make_waiting_answer("busy")])
def test_our_worker_reads_what_the_server_writes(answer: TaskAnswer) -> None:
    assert worker_answers.TASK.read(encode_timed(answer, seconds=0.1)) == answer


def test_our_worker_reads_the_values_of_a_tune() -> None:
    answer = make_spsa_values(TUNE, perturb(TUNE, b"\x40"))
    assert worker_answers.SPSA.read(encode_timed(answer, seconds=0.1)) == answer


def test_an_error_is_heard_whatever_else_is_missing() -> None:
    refused = worker_answers.PLAIN.read(b'{"error":"no such task","duration":0.1}')
    assert refused.error == "no such task"


def test_an_answer_without_task_alive_is_a_fault() -> None:
    with pytest.raises(BadField, match="task_alive: is missing"):
        worker_answers.ALIVE.read(b'{"duration":0.1}')


def test_our_worker_reads_a_foreign_servers_task() -> None:
    run = {
        "_id": RUN_ID,
        "args": {
            **ARGS,
            "book_depth": 8,
            "new_signature": 2050811,
            "sprt": {"batch_size": 4, "llr": 0.5, "overshoot": {}},
            "itp": 97.3,
        },
        "my_task": {"num_games": 24, "start": 0},
    }
    read = worker_answers.TASK.read(body({"run": run, "task_id": 0, "duration": 0.1}))
    assert read.run is not UNSET
    args = list_given(TASK_ARGS.read(bytes(read.run.args)))
    assert args["sprt"] == SprtTask(batch_size=4)
    plan = fold(args)
    assert (plan.book_depth, plan.new.signature) == (8, "2050811")


@pytest.mark.parametrize("name", ["tc", "resolved_base", "new_signature", "book"])
def test_a_task_that_lacks_what_an_official_worker_needs_is_a_fault(name: str) -> None:
    args = {key: value for key, value in ARGS.items() if key != name}
    with pytest.raises(BadField, match=f"{name}: is missing"):
        TASK_ARGS.read(body(args))
