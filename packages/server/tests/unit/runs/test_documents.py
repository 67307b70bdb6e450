"""Runs as scripts read them."""

import json
import math
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from rookery.core.model.kinds import SprtTest, SpsaTuning
from rookery.core.model.run import Run
from rookery.core.protocol.codec import encode
from rookery.core.protocol.user_documents import ARGS_DOCUMENT
from rookery.core.protocol.user_queries import LiveElo
from rookery.core.stats.sprt import Sprt, SprtState
from rookery.core.stats.spsa import ParameterSample, new_tune
from rookery.server.runs.documents import run_document
from tests.makers import make_plan, make_run, make_side, sprt

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
