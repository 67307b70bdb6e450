"""Tasks and runs as they are sent to workers."""

from dataclasses import replace
from typing import Any

import msgspec

from rookery.core.model.plan import Draw, Resign
from rookery.core.model.run import Run
from rookery.core.model.task import Task
from rookery.core.protocol.codec import encode
from rookery.server.farm.rules.answers import Grant
from rookery.server.worker_api.outgoing import Payloads, task_answer
from tests.makers import NOW, make_machine, make_plan, make_run, make_side, sprt


def sent(run: Run) -> dict[str, object]:
    return msgspec.json.decode(bytes(Payloads().args(run, ours=True)), type=dict[str, object])


def test_no_null_is_sent_and_nothing_of_ours_to_a_classic_run() -> None:
    args = sent(make_run(kind=sprt(batch=3)))
    assert None not in args.values()
    assert not {"new_engine", "resign", "draw", "scaling", "variant", "new_uci"} & set(args)


def test_what_a_run_asks_beyond_fishtest_is_sent_to_those_who_know_it() -> None:
    rules: dict[str, Any] = {"resign": Resign(500, 3), "draw": Draw(40, 8, 10), "scaling": "off"}
    sides = (make_side("idea", threads=2, uci=(("Some Name", "a b"),)), make_side("base"))
    args = sent(make_run(plan=make_plan(sides=sides, **rules, variant="chess960", syzygy_men=6)))
    assert args["resign"] == {"score": 500, "moves": 3, "two_sided": False}
    assert args["draw"] == {"from_move": 40, "moves": 8, "score": 10}
    assert (args["scaling"], args["variant"], args["syzygy_men"]) == ("off", "chess960", 6)
    assert (args["new_threads"], args["new_uci"]) == (2, {"Some Name": "a b"})


def test_the_books_hash_is_sent_without_a_prefix() -> None:
    run = make_run(plan=make_plan(book="UHO.epd", book_sri="x" * 64))
    assert sent(run)["book_sri"] == "x" * 64


def test_time_odds_give_each_side_its_own_time() -> None:
    sides = (make_side("idea", tc="5+0.05"), make_side("base"))
    args = sent(make_run(plan=make_plan(sides=sides)))
    assert (args["tc"], args["new_tc"]) == ("10+0.1", "5+0.05")


def test_a_task_says_where_its_openings_start() -> None:
    task = Task("a", 41, 12_800, 480, make_machine(), NOW, NOW)
    payloads = Payloads(most=1)
    answer = msgspec.json.decode(encode(task_answer(Grant(make_run(), task), payloads)))
    assert answer["task_id"] == 41
    assert answer["run"]["my_task"]["start"] == 12_800


def test_what_a_run_is_to_workers_is_put_into_words_once_and_again_when_it_changes() -> None:
    payloads, run = Payloads(most=1), make_run()
    first = payloads.args(run, ours=False)
    assert payloads.args(run, ours=False) is first
    assert payloads.args(replace(run, plan=make_plan(games=2)), ours=False) is not first
    payloads.args(make_run("b"), ours=False)
    assert payloads.args(run, ours=False) is not first
