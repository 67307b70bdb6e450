"""The queries of calc_elo and finished_runs."""

import json
from datetime import UTC, datetime

import pytest

from rookery.core.protocol.codec import BadParameter, encode
from rookery.core.protocol.user_queries import (
    EloQuery,
    FinishedQuery,
    FixedElo,
    LiveElo,
    parse_elo_query,
    parse_finished_query,
)
from rookery.core.stats.sprt import EloModel, Sprt

PAIRS = {"LL": "10", "LD": "50", "DDWL": "120", "WD": "70", "WW": "14"}
GAMES = {"W": "3", "D": "2", "L": "1"}


def test_pairs_are_five_bins_worst_first() -> None:
    assert parse_elo_query(PAIRS) == EloQuery((10, 50, 120, 70, 14))


def test_games_are_three_bins_worst_first() -> None:
    assert parse_elo_query(GAMES) == EloQuery((1, 2, 3))


def test_pairs_are_preferred_when_all_are_there() -> None:
    assert len(parse_elo_query(PAIRS | GAMES).bins) == 5
    assert len(parse_elo_query({"LL": "1"} | GAMES).bins) == 3


def test_bounds_are_normalised_unless_said_otherwise() -> None:
    assert parse_elo_query(PAIRS | {"elo0": "0", "elo1": "2"}).bounds == Sprt(0, 2)
    model = {"elo0": "-1.75", "elo1": "0.25", "elo_model": "BayesElo"}
    assert parse_elo_query(PAIRS | model).bounds == Sprt(-1.75, 0.25, EloModel.BAYES)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"W": "1.5"}, "W"),
        ({"W": "-1"}, "W"),
        ({"W": "x"}, "W"),
        ({"W": "9" * 40}, "W"),
        ({"W": "0", "D": "0", "L": "0"}, "L,D,W"),
        ({"W": str(2**32)}, "L,D,W"),
        ({"elo0": "0"}, "elo1"),
        ({"elo1": "2"}, "elo0"),
        ({"elo0": "0", "elo1": "0.4"}, "elo1"),
        ({"elo0": "0", "elo1": "11"}, "elo1"),
        ({"elo0": "nan", "elo1": "2"}, "elo0"),
        ({"elo0": "1e999", "elo1": "2"}, "elo0"),
        ({"elo0": "0", "elo1": "2", "elo_model": "Elo"}, "elo_model"),
    ],
)
def test_a_violation_is_named(changes: dict[str, str], named: str) -> None:
    with pytest.raises(BadParameter, match=f"^{named}: expected"):
        parse_elo_query(GAMES | changes)


def test_a_missing_count_is_named() -> None:
    with pytest.raises(BadParameter, match=r"^D: expected an integer"):
        parse_elo_query({"W": "1", "L": "1"})


def test_pairs_count_two_games_each() -> None:
    nothing = dict.fromkeys(PAIRS, "0")
    assert parse_elo_query(nothing | {"WW": str(2**31)}).bins[-1] == 2**31
    with pytest.raises(BadParameter):
        parse_elo_query(nothing | {"WW": str(2**31 + 1)})


def test_estimates_are_spelt_as_scripts_know_them() -> None:
    fixed = FixedElo(elo=1.0, ci=(0.0, 2.0), los=0.9)
    live = LiveElo(a=-2.9, b=2.9, elo=1.0, ci=(0.0, 2.0), los=0.9, llr=0.5)
    assert json.loads(encode(fixed)) == {"elo": 1.0, "ci": [0.0, 2.0], "LOS": 0.9}
    assert set(json.loads(encode(live))) == {"a", "b", "elo", "ci", "LOS", "LLR"}


def test_a_page_is_enough() -> None:
    assert parse_finished_query({"page": "3"}) == FinishedQuery(page=3)


def test_any_text_switches_a_flag_on() -> None:
    query = parse_finished_query(
        {"page": "1", "success_only": "0", "yellow_only": "", "ltc_only": "x"}
    )
    assert (query.success_only, query.yellow_only, query.ltc_only) == (True, False, True)


def test_a_timestamp_is_utc_with_or_without_a_fraction() -> None:
    query = parse_finished_query({"page": "1", "timestamp": "1700000000.5"})
    assert query.since == datetime(2023, 11, 14, 22, 13, 20, 500_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ({}, "page"),
        ({"page": "0"}, "page"),
        ({"page": "1.0"}, "page"),
        ({"page": "-1"}, "page"),
        ({"page": "9" * 30}, "page"),
        ({"page": "1", "timestamp": "123"}, "timestamp"),
        ({"page": "1", "timestamp": ""}, "timestamp"),
        ({"page": "1", "timestamp": "17000000000"}, "timestamp"),
        ({"page": "1", "username": "a\x00"}, "username"),
    ],
)
def test_a_violation_in_finished_runs_is_named(query: dict[str, str], named: str) -> None:
    with pytest.raises(BadParameter, match=f"^{named}: expected"):
        parse_finished_query(query)
