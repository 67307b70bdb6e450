"""Numbers, durations and times as the pages show them."""

from datetime import timedelta

import pytest

from rookery.core.model.timecontrol import parse
from rookery.server.http.pages import formatting
from rookery.server.http.pages.formatting import (
    FILTERS,
    format_ago,
    format_count,
    format_decimal,
    format_duration,
    format_elo,
    format_elo_interval,
    format_llr,
    format_nps,
    format_percent,
    format_processor,
    format_rate,
    format_span,
    format_time_control,
    format_time_left,
)
from tests.makers import NOW

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("number", "text"), [(1_234_567, "1,234,567"), (0, "0"), (NAN, "–")])
def test_games_are_counted_with_commas(number: float, text: str) -> None:
    assert format_count(number) == text


@pytest.mark.parametrize(
    ("middle", "half", "text"),
    [
        (2.31, 1.45, "+2.31 ± 1.45"),
        (-0.001, 1.45, "0.00 ± 1.45"),
        (-12.34, 34.5, "-12.3 ± 34.5"),
        (250.0, 120.0, "+250 ± 120"),
        (0.0, 1199.8, "–"),
        (NAN, 1.0, "–"),
        (1.0, NAN, "–"),
        (INF, INF, "–"),
    ],
)
def test_elo_has_its_error_and_no_more_digits_than_that_deserves(
    middle: float, half: float, text: str
) -> None:
    assert format_elo(middle, half) == text


def test_a_likelihood_ratio_stands_beside_its_bounds() -> None:
    assert format_llr(1.87, -2.944, 2.944) == "LLR 1.87 [-2.94, 2.94]"
    assert format_llr(-0.001, -2.944, 2.944) == "LLR 0.00 [-2.94, 2.94]"
    assert format_llr(25.66, -2.944, 2.944) == "LLR 25.66 (beyond 2.94)"
    assert format_llr(-4.1, -2.944, 2.944) == "LLR -4.10 (below -2.94)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3599, "1 h"),
        (12_000, "3 h 20 min"),
        (7200, "2 h"),
        (86_399, "24 h"),
        (187_200, "2 d 4 h"),
        (1e9, "more than a year"),
        (-5, "0 s"),
        (NAN, "–"),
    ],
)
def test_a_span_has_the_two_units_that_matter(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50.0 %"), (1.0, "> 99.9 %"), (0.0, "< 0.1 %"), (0.9987, "99.9 %"), (NAN, "–")],
)
def test_a_chance_is_never_certain(share: float, text: str) -> None:
    assert format_percent(share) == text


@pytest.mark.parametrize(
    ("early", "late", "text"),
    [
        (4.2 * 3600, 13.6 * 3600, "4 to 14 h"),
        (50 * 60, 9 * 3600, "50 min to 9 h"),
        (30 * 3600, 12.4 * 86400, "30 h to 12 d"),
        (1, 2, "1 min"),
        (123 * 86400, 345 * 86400, "120 to 340 d"),
        (86400 * 50, INF, "50 d or more"),
        (INF, INF, "a year or more"),
    ],
)
def test_a_range_of_time_is_as_rough_as_what_is_known(early: float, late: float, text: str) -> None:
    assert format_span(early, late).replace("\N{NO-BREAK SPACE}", " ") == text


def test_what_is_left_says_so() -> None:
    assert format_time_left(12_000) == "3 h 20 min left"
    assert format_time_left(INF) == "–"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-30, "just now"),
        (3, "just now"),
        (42, "42 s ago"),
        (150, "2 min ago"),
        (7300, "2 h ago"),
        (3 * 86_400, "3 d ago"),
        (90 * 86_400, "2025-12-01"),
    ],
)
def test_a_moment_is_relative(seconds: float, text: str) -> None:
    assert format_ago(NOW - timedelta(seconds=seconds), NOW).text == text


def test_a_moment_keeps_the_exact_time() -> None:
    moment = format_ago(NOW, NOW)
    assert moment.exact == "2026-03-01 12:00:00 UTC"
    assert moment.iso == "2026-03-01T12:00:00+00:00"


@pytest.mark.parametrize(
    ("tc", "text"),
    [
        ("10+0.1", "10 s + 0.1 s"),
        ("40/60+0.6", "40 moves in 60 s + 0.6 s"),
        ("60", "60 s"),
        ("N=25000", "25,000 nodes a move"),
        ("D=12", "depth 12"),
        ("st=0.1", "0.1 s a move"),
    ],
)
def test_a_time_control_is_told_in_words(tc: str, text: str) -> None:
    assert format_time_control(parse(tc)) == text


@pytest.mark.parametrize(
    ("nps", "text"), [(0, "0 nps"), (900, "900 nps"), (41_500, "41.5 knps"), (7e8, "700 Mnps")]
)
def test_a_speed_has_a_prefix(nps: float, text: str) -> None:
    assert format_nps(nps) == text


@pytest.mark.parametrize(("rate", "text"), [(0, "0"), (NAN, "0"), (3.25, "3.2"), (1204, "1,204")])
def test_a_rate_is_never_odd(rate: float, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("number", "text"), [(2.0, "2"), (-1.75, "-1.75"), (0.0, "0"), (0.5, "0.5")]
)
def test_a_bound_has_no_needless_zeros(number: float, text: str) -> None:
    assert format_decimal(number) == text


def test_an_interval_that_is_not_even_is_told_by_its_ends() -> None:
    assert format_elo_interval(2.0, 1.0, 3.0) == "+2.00 ± 1.00"
    assert format_elo_interval(2.0, 0.02, 3.0) == "+2.00 [+0.02, +3.00]"
    assert format_elo_interval(20.0, 0.0, 25.0) == "+20.0 [0.0, +25.0]"
    assert format_elo_interval(0.0, -1000.0, 900.0) == "–"
    assert format_elo_interval(float("nan"), 0.0, 1.0) == "–"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Intel(R) Core(TM) i7-9700K CPU @ 3.60GHz", "Intel Core i7-9700K"),
        ("AMD Ryzen 9 5950X 16-Core Processor", "AMD Ryzen 9 5950X 16-Core"),
        ("", ""),
    ],
)
def test_a_processor_is_shown_without_marks_and_clock_rate(name: str, text: str) -> None:
    assert format_processor(name) == text


@pytest.mark.parametrize("name", FILTERS)
def test_each_filter_of_templates_is_explained(name: str) -> None:
    assert f"|{name}" in str(formatting.__doc__)
