"""The query of finished_runs."""

from datetime import UTC, datetime

import pytest

from rookery.protocol.codec import BadParameter
from rookery.protocol.user_queries import FinishedQuery, finished_query


def test_a_page_is_enough() -> None:
    assert finished_query({"page": "3"}) == FinishedQuery(page=3)


def test_any_text_switches_a_flag_on() -> None:
    query = finished_query({"page": "1", "success_only": "0", "yellow_only": "", "ltc_only": "x"})
    assert (query.success_only, query.yellow_only, query.ltc_only) == (True, False, True)


def test_a_timestamp_is_utc_with_or_without_a_fraction() -> None:
    query = finished_query({"page": "1", "timestamp": "1700000000.5"})
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
def test_a_violation_is_named(query: dict[str, str], named: str) -> None:
    with pytest.raises(BadParameter, match=f"^{named}: expected"):
        finished_query(query)
