"""Runs as scripts read them."""

import json
import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from msgspec import UNSET

from rookery.protocol.codec import encode, rendered
from rookery.protocol.user_documents import (
    QuotaDocument,
    RunDocument,
    SprtDocument,
    history_of,
    listed,
    single,
    spsa_document,
)
from rookery.protocol.user_queries import LiveElo
from rookery.stats.spsa import ParameterSample, new_tune
from tests.unit.protocol.samples import RUN_ID, make_args, make_run

LINES = "P,100,0,200,20,0.002\nQ,float,0.5,0,1,0.05,0.002"
TUNE = replace(
    new_tune(LINES, 60_000), history=((ParameterSample(1, 2, 3), ParameterSample(4, 5, 6)),)
)
TUNED = make_run(make_args(spsa=spsa_document(TUNE, LINES, history_of(TUNE))))
SPRT = SprtDocument(
    alpha=0.05,
    beta=0.05,
    elo0=0.0,
    elo1=2.0,
    elo_model="normalized",
    state="",
    llr=math.nan,
    batch_size=16,
    lower_bound=-2.94,
    upper_bound=2.94,
    lost_samples=3,
)


def shown(run: RunDocument) -> dict[str, object]:
    document: dict[str, object] = json.loads(encode(run))
    return document


def args_of(document: dict[str, object]) -> dict[str, object]:
    args = document["args"]
    assert isinstance(args, dict)
    return args


def test_a_list_is_an_object_by_run_id() -> None:
    runs = listed([make_run(), make_run(run_id="f" * 24)])
    assert list(json.loads(encode(runs))) == [RUN_ID, "f" * 24]


def test_a_listed_run_has_neither_tasks_nor_history() -> None:
    document = shown(listed([TUNED])[RUN_ID])
    spsa = args_of(document)["spsa"]
    assert isinstance(spsa, dict)
    assert "tasks" not in document
    assert "param_history" not in spsa


def test_a_single_run_has_empty_lists() -> None:
    document = shown(single(TUNED))
    spsa = args_of(document)["spsa"]
    assert isinstance(spsa, dict)
    assert (document["tasks"], document["bad_tasks"]) == ([], [])
    assert spsa["param_history"] == []


def test_a_run_without_a_tune_is_left_alone() -> None:
    assert listed([make_run()])[RUN_ID] == make_run()


def test_an_estimate_joins_the_run_when_given() -> None:
    elo = LiveElo(a=-2.9, b=2.9, elo=1.0, ci=(0.0, 2.0), los=0.9, llr=0.5)
    assert single(make_run()).elo is UNSET
    assert single(make_run(), elo).elo == elo


def test_a_fishtest_shaped_run_shows_none_of_our_fields() -> None:
    args = args_of(shown(make_run()))
    assert not {"new_engine", "resign", "variant", "syzygy_men", "sprt", "spsa"} & set(args)


def test_our_fields_are_shown_where_a_run_has_them() -> None:
    args = args_of(shown(make_run(make_args(variant="chess960", strict_pv=True))))
    assert (args["variant"], args["strict_pv"]) == ("chess960", True)


def test_numbers_that_json_lacks_are_not_sent() -> None:
    sprt = args_of(shown(make_run(make_args(sprt=SPRT))))["sprt"]
    assert isinstance(sprt, dict)
    assert sprt["llr"] == 0.0
    assert "overshoot" not in sprt


def test_a_tune_is_shown_in_fishtests_words() -> None:
    spsa = args_of(shown(TUNED))["spsa"]
    assert isinstance(spsa, dict)
    assert (spsa["A"], spsa["num_iter"], spsa["raw_params"]) == (3000, 30_000, LINES)
    assert spsa["params"][0]["theta"] == 100
    assert "type" not in spsa["params"][0]
    assert spsa["params"][1]["type"] == "float"
    assert spsa["param_history"][0][0] == {"theta": 1, "R": 2, "c": 3}


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
    assert rendered(moment) == text


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
