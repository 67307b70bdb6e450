"""A task as the worker reads it."""

import msgspec
import pytest

from rookery.core.http_failures import NoAnswer
from rookery.core.model.engine import STOCKFISH
from rookery.core.model.plan import Draw, Resign
from rookery.core.protocol.worker_answers import TASK
from rookery.match.job import OFFICIAL, Adjudication
from rookery.worker.assignment import Assignment, batch_pairs, match_setup, read_assignment
from rookery.worker.engines.orders import TaskFailed
from tests.workers.fake_server import task


def read(answer: object) -> Assignment | None:
    return read_assignment(TASK.read(msgspec.json.encode(answer)))


def granted(**args: object) -> Assignment:
    found = read(task(4, **args))
    assert found is not None
    return found


def test_without_a_task_there_is_nothing_to_play() -> None:
    assert read({"task_waiting": False}) is None


def test_an_answer_without_a_run_is_no_answer() -> None:
    with pytest.raises(NoAnswer):
        read({})


def test_options_come_from_both_places() -> None:
    found = granted(new_options="Hash=16 A=b", new_uci={"Clear Hash": "now"})
    assert found.new.spec.options == (("Hash", "16"), ("A", "b"), ("Clear Hash", "now"))


def test_threads_become_an_option_unless_there_is_one() -> None:
    assert granted(threads=4).base.spec.options[0] == ("Threads", "4")
    assert granted(threads=4, base_options="Threads=4").base.spec.options == (("Threads", "4"),)


def test_sides_of_unequal_threads_take_turns_on_the_larger() -> None:
    assert granted(new_threads=2, base_threads=3).threads == 3


def test_a_task_that_names_no_engine_is_stockfishs() -> None:
    answer = task()
    for name in ("new_engine", "base_engine", "new_record", "base_record"):
        del answer["run"]["args"][name]
    found = read(answer)
    assert found is not None
    assert found.new.order.record == STOCKFISH


def test_an_engine_without_a_record_goes_back() -> None:
    answer = task()
    del answer["run"]["args"]["new_record"]
    with pytest.raises(TaskFailed, match="Mover"):
        read(answer)


def test_the_new_side_may_have_its_own_time() -> None:
    found = granted(tc="10+0.1", new_tc="5+0.05")
    assert (found.new.spec.tc, found.base.spec.tc) == ("5+0.05", "10+0.1")


def test_openings_begin_where_earlier_tasks_ended() -> None:
    answer = task(8)
    answer["run"]["my_task"]["start"] = 64
    found = read(answer)
    assert found is not None
    assert found.first_opening == 33


def test_fixed_nodes_need_no_speed() -> None:
    assert not granted(tc="N=100").is_timed
    assert granted(tc="1+0.01").is_timed
    assert not granted(tc="1+0.01", scaling="off").is_timed


def test_the_usual_rules_are_the_official_ones() -> None:
    answer = task()
    del answer["run"]["args"]["draw"]
    found = read(answer)
    assert found is not None
    assert match_setup(found).adjudication == OFFICIAL
    assert match_setup(granted(adjudication=False)).adjudication.resign is None


RESIGN = {"score": 400, "moves": 4}
DRAW = {"from_move": 1, "moves": 2, "score": 3}


def test_a_run_may_have_rules_of_its_own() -> None:
    found = match_setup(granted(resign=RESIGN, draw=DRAW, time_margin_ms=50, book="book_960.epd"))
    assert found.adjudication.resign == Resign(400, 4)
    assert found.adjudication.draw == Draw(1, 2, 3)
    assert (found.margin_ms, found.chess960) == (50, True)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ({"resign": RESIGN}, Adjudication(Resign(400, 4), None)),
        ({"draw": DRAW}, Adjudication(None, Draw(1, 2, 3))),
        ({}, Adjudication(None, None)),
    ],
)
def test_without_the_official_rules_only_those_of_the_run_count(
    own: dict[str, object], expected: Adjudication
) -> None:
    answer = task(4, adjudication=False)
    del answer["run"]["args"]["draw"]
    answer["run"]["args"] |= own
    found = read(answer)
    assert found is not None
    assert match_setup(found).adjudication == expected


def test_one_rule_of_the_run_replaces_one_official_rule() -> None:
    answer = task(4, resign=RESIGN)
    del answer["run"]["args"]["draw"]
    found = read(answer)
    assert found is not None
    assert match_setup(found).adjudication == Adjudication(Resign(400, 4), OFFICIAL.draw)


def test_a_sequential_test_says_how_large_its_batches_are() -> None:
    assert batch_pairs(granted(sprt={"batch_size": 5}), 8, is_rookery=True) == 5


@pytest.mark.parametrize(
    ("tc", "spsa", "expected"),
    [("60+0.6", False, 2 * 3), ("10+0.1", False, 2 * 3 * 6), ("10+0.1", True, 2 * 2 * 3 * 6)],
)
def test_other_batches_follow_the_protocol(tc: str, spsa: bool, expected: int) -> None:
    kind: dict[str, object] = {"spsa": {}} if spsa else {}
    assert batch_pairs(granted(tc=tc, **kind), 3, is_rookery=False) == expected


def test_a_server_of_ours_hears_of_them_twice_a_minute() -> None:
    # A game at 10+0.1 lasts half a minute.
    assert batch_pairs(granted(tc="10+0.1"), 3, is_rookery=True) == 3
    assert batch_pairs(granted(tc="1+0.01"), 3, is_rookery=True) == 3 * 3
