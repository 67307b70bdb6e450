"""Numbers, spans, moments and the terms of a run as people read them."""

from datetime import timedelta

import pytest
from msgspec.structs import replace as with_fields

from rookery.model.kinds import Fixed
from rookery.model.timecontrol import parse
from rookery.pages import words
from tests.makers import NOW, make_plan, make_run, make_side, sprt, spsa

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(("number", "text"), [(1_234_567, "1,234,567"), (0, "0"), (NAN, "–")])
def test_games_are_counted_with_commas(number: float, text: str) -> None:
    assert words.count(number) == text


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
    assert words.elo(middle, half) == text


def test_a_likelihood_ratio_stands_beside_its_bounds() -> None:
    assert words.llr(1.87, -2.944, 2.944) == "LLR 1.87 [-2.94, 2.94]"
    assert words.llr(-0.001, -2.944, 2.944) == "LLR 0.00 [-2.94, 2.94]"
    assert words.llr(25.66, -2.944, 2.944) == "LLR 25.66 (beyond 2.94)"
    assert words.llr(-4.1, -2.944, 2.944) == "LLR -4.10 (below -2.94)"


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
    assert words.span(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.5, "50.0 %"), (1.0, "> 99.9 %"), (0.0, "< 0.1 %"), (0.9987, "99.9 %"), (NAN, "–")],
)
def test_a_chance_is_never_certain(share: float, text: str) -> None:
    assert words.percent(share) == text


def test_what_is_left_says_so() -> None:
    assert words.left(12_000) == "3 h 20 min left"
    assert words.left(INF) == "–"


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
    assert words.ago(NOW - timedelta(seconds=seconds), NOW).text == text


def test_a_moment_keeps_the_exact_time() -> None:
    moment = words.ago(NOW, NOW)
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
    assert words.time_control(parse(tc)) == text


@pytest.mark.parametrize(
    ("nps", "text"), [(0, "0 nps"), (900, "900 nps"), (41_500, "41.5 knps"), (7e8, "700 Mnps")]
)
def test_a_speed_has_a_prefix(nps: float, text: str) -> None:
    assert words.speed(nps) == text


@pytest.mark.parametrize(("rate", "text"), [(0, "0"), (NAN, "0"), (3.25, "3.2"), (1204, "1,204")])
def test_a_rate_is_never_odd(rate: float, text: str) -> None:
    assert words.rate(rate) == text


@pytest.mark.parametrize(
    ("number", "text"), [(2.0, "2"), (-1.75, "-1.75"), (0.0, "0"), (0.5, "0.5")]
)
def test_a_bound_has_no_needless_zeros(number: float, text: str) -> None:
    assert words.plain(number) == text


FORK = "https://github.com/olga/Stockfish"


def test_the_question_of_each_kind_of_run_is_short() -> None:
    assert words.question(make_run(kind=sprt(elo1=2.0))) == "gain [0, 2]"
    assert words.question(make_run(kind=sprt(elo0=-1.75, elo1=0.25))) == (
        "no regression [-1.75, 0.25]"
    )
    assert words.question(make_run(kind=spsa())) == "tune of 1 parameter"
    assert words.question(make_run(kind=Fixed())) == "40,000 games"


def test_a_run_is_told_in_one_sentence() -> None:
    assert words.sentence(make_run(kind=sprt(elo1=2.0))) == (
        "Asks for a gain (0 or 2 nElo): Stockfish idea against master at 10 s + 0.1 s"
        " with 1 thread from UHO.epd, for at most 40,000 games."
    )
    assert words.sentence(make_run(kind=spsa())).startswith("Tunes 1 parameter of Stockfish idea")


def test_the_difference_is_where_the_change_can_be_read() -> None:
    new, base = make_side(commit="a" * 40), make_side("master", commit="b" * 40)
    same = make_run(plan=make_plan(sides=(new, base)))
    assert words.difference(same).endswith("/compare/bbbbbbbbbb...aaaaaaaaaa")
    fork = make_run(plan=make_plan(sides=(with_fields(new, repository=FORK), base)))
    assert words.difference(fork) == f"{FORK}/commit/{'a' * 40}"
    elsewhere = with_fields(new, repository="https://git.example.org/e")
    assert words.difference(make_run(plan=make_plan(sides=(elsewhere, base)))) == ""
    assert words.difference(make_run(plan=make_plan(sides=(base, base)))) == ""


def test_the_table_names_what_differs_between_the_sides() -> None:
    new = make_side(tc="20+0.2", threads=2, signature="123", nets=("nn.nnue",))
    found = {
        term.name: term.text
        for term in words.terms_of(
            make_run(plan=make_plan(sides=(new, make_side("master"))), kind=sprt())
        )
    }
    assert found["Time control, new"] == "20 s + 0.2 s"
    assert found["Threads"] == "2 and 1"
    assert found["New, bench"] == "123"
    assert found["New, nets"] == "nn.nnue"
    assert found["Error rates"] == "α 0.05, β 0.05"
