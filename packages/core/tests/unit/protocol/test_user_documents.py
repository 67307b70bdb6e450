"""Runs and tasks as scripts read them, and names in paths."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.run import Run
from rookery.core.model.task import Results
from rookery.core.protocol import worker_requests
from rookery.core.protocol.codec import BadName, encode, format_time
from rookery.core.protocol.user_documents import (
    ARGS_DOCUMENT,
    QuotaDocument,
    TaskDocument,
    format_residual,
    issued_document,
    mask_worker,
)
from rookery.core.protocol.user_queries import (
    LiveElo,
    PgnName,
    TaskName,
    parse_net_hash,
    parse_pgn_name,
    parse_run_pgns_name,
    parse_task_name,
)
from rookery.core.stats.sprt import Sprt, SprtState
from rookery.core.stats.spsa import Issued, ParameterSample, new_tune
from rookery.server.runs.documents import run_document
from tests.makers import make_plan, make_run, make_side, sprt
from tests.unit.protocol.samples import ENVELOPE, KEY, RUN_ID, changed

LINES = "P,100,0,200,20,0.002\nQ,float,0.5,0,1,0.05,0.002"
HISTORY = ((ParameterSample(1, 2, 3), ParameterSample(4, 5, 6)),)
TUNE = replace(new_tune(LINES, 60_000), history=HISTORY)
TUNED = make_run(kind=SpsaTuning(TUNE))


def shown(run: Run, **how: Any) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(encode(run_document(run, **how)))
    return document


def test_a_listed_run_has_neither_tasks_nor_history() -> None:
    document = shown(TUNED)
    assert "tasks" not in document
    assert "param_history" not in document["args"]["spsa"]


def test_a_single_run_has_empty_lists() -> None:
    document = shown(TUNED, alone=True)
    assert (document["tasks"], document["bad_tasks"]) == ([], [])
    assert document["args"]["spsa"]["param_history"] == []


def test_an_estimate_joins_the_run_when_given() -> None:
    elo = LiveElo(a=-2.9, b=2.9, elo=1.0, ci=(0.0, 2.0), los=0.9, llr=0.5)
    assert "elo" not in shown(make_run())
    assert shown(make_run(), elo=elo)["elo"]["elo"] == 1.0


def test_a_fishtest_shaped_run_shows_none_of_our_fields() -> None:
    args = shown(make_run())["args"]
    assert not {"new_engine", "new_repo", "resign", "variant", "syzygy_men", "sprt"} & set(args)


def test_our_fields_are_shown_where_a_run_has_them() -> None:
    sides = (
        make_side("idea", repository="https://example.org/e", uci=(("A b", "c"),)),
        make_side(),
    )
    plan = make_plan(sides=sides, variant="chess960", strict_pv=True)
    args = shown(make_run(plan=plan))["args"]
    assert (args["variant"], args["strict_pv"], args["new_uci"]) == ("chess960", True, {"A b": "c"})
    assert args["tests_repo"] == args["new_repo"] != args["base_repo"]


@pytest.mark.parametrize("run", [TUNED, make_run(kind=sprt()), make_run()])
def test_the_arguments_are_what_the_description_of_the_api_says(run: Run) -> None:
    msgspec.convert(shown(run)["args"], ARGS_DOCUMENT)


def test_numbers_that_json_lacks_are_not_sent() -> None:
    state = SprtState(math.nan, overshoot=None, lost_samples=3)
    found = shown(make_run(kind=SprtTest(Sprt(0.0, 2.0), state)))["args"]["sprt"]
    assert (found["llr"], found["lost_samples"], found["elo_model"]) == (0.0, 3, "normalized")
    assert "overshoot" not in found


def test_a_tune_is_shown_in_fishtests_words() -> None:
    spsa = shown(TUNED)["args"]["spsa"]
    assert (spsa["A"], spsa["num_iter"]) == (3000, 30_000)
    assert spsa["params"][0]["theta"] == 100
    assert "type" not in spsa["params"][0]
    assert spsa["params"][1]["type"] == "float"
    assert json.loads(encode(HISTORY))[0][0] == {"theta": 1, "R": 2, "c": 3}


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 8, 22, 8, 16, 56, 123000, UTC), "2026-08-22 08:16:56.123000+00:00"),
        (datetime(2026, 8, 22, 8, 16, 56, 0, UTC), "2026-08-22 08:16:56.000000+00:00"),
        (
            datetime(2026, 8, 22, 10, 0, tzinfo=timezone(timedelta(hours=2))),
            "2026-08-22 08:00:00.000000+00:00",
        ),
    ],
)
def test_dates_are_utc_with_a_fraction(moment: datetime, text: str) -> None:
    assert format_time(moment) == text


def test_the_quota_is_spelt_as_scripts_know_it() -> None:
    quota = QuotaDocument(limit=5000, remaining=4999, reset=1, used=1, uninitialized=False)
    assert json.loads(encode(quota)) == {
        "limit": 5000,
        "remaining": 4999,
        "reset": 1,
        "used": 1,
        "resource": "core",
        "_uninitialized": False,
    }


READ = worker_requests.REQUEST_TASK.read(
    changed(ENVELOPE, "worker_info.rookery", {"host": "lab-1"})
)
TASK = TaskDocument(
    num_games=480,
    active=True,
    last_updated="2026-08-22 08:16:56.123000+00:00",
    start=0,
    stats=Results(8, 7, 17, 0, 0, (0, 4, 7, 5, 0)),
    worker_info=mask_worker(READ.worker_info, "NZ"),
    spsa_params=issued_document(Issued(3, b"\x9c\x80")),
    residual=format_residual(math.inf),
)


def test_what_identifies_a_machine_is_taken_out() -> None:
    text = encode(TASK)
    assert KEY.encode() not in text
    assert b"lab-1" not in text
    info = json.loads(text)["worker_info"]
    assert (info["unique_key"], info["remote_addr"], info["country_code"]) == (
        "1a2b3c4d...",
        "?.?.?.?",
        "NZ",
    )


def test_flips_are_byte_values_and_an_infinite_residual_a_word() -> None:
    task = json.loads(encode(TASK))
    assert task["spsa_params"] == {"iter": 3, "packed_flips": [0x9C, 0x80]}
    assert task["residual"] == "inf"
    assert format_residual(1.5) == 1.5


def test_a_sound_task_says_nothing_of_badness() -> None:
    assert not {"bad", "task_id", "residual_color"} & set(json.loads(encode(TASK)))


def test_a_bad_task_is_named_by_a_suffix() -> None:
    assert parse_task_name("17") == TaskName(17, bad=False)
    assert parse_task_name("2bad") == TaskName(2, bad=True)


def test_a_pgn_is_named_by_what_stands_before_the_first_dot() -> None:
    assert parse_pgn_name(f"{RUN_ID}-7.pgn") == PgnName(RUN_ID, 7)
    assert parse_pgn_name(f"{RUN_ID}-7.anything.gz") == PgnName(RUN_ID, 7)


def test_all_games_of_a_run_have_one_name_only() -> None:
    assert parse_run_pgns_name(f"{RUN_ID}.pgn.gz") == RUN_ID
    with pytest.raises(BadName, match="expected"):
        parse_run_pgns_name(f"{RUN_ID}.pgn")


def test_a_net_is_named_by_its_hash() -> None:
    assert parse_net_hash("nn-e513ab863a73.nnue") == "e513ab863a73"


@pytest.mark.parametrize("name", ["", "bad", "-1", "1.0", "1 ", "٣", "9" * 30])
def test_another_task_name_is_refused(name: str) -> None:
    with pytest.raises(BadName):
        parse_task_name(name)
