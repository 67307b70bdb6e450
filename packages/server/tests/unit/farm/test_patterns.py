"""Patterns that people write select machines and nets, and can't be made to run for ever."""

import pytest

from rookery.server.farm.rules.patterns import (
    MOST_CHARACTERS,
    MOST_SUBJECT,
    BadPattern,
    check,
    check_for_workers,
    is_found,
    is_whole,
)


def test_a_filter_is_searched_for_in_the_architecture() -> None:
    assert is_found("avx2|bmi2", "x86-64-bmi2")
    assert not is_found("avx512", "x86-64-bmi2")


def test_what_must_not_be_there_may_be_said_at_the_beginning() -> None:
    assert not is_found("^(?!.*x86)", "x86-64-bmi2")
    assert is_found("^(?!.*x86)", "armv8")
    assert is_found(r"^(?!arm([])(]|\)))x86.*bmi2", "x86-64-bmi2")
    assert not is_found("^(?!arm)x86.*avx512", "x86-64-bmi2")


def test_the_whole_of_a_nets_name_is_compared() -> None:
    assert is_whole(r"nn-[0-9a-f]{12}\.nnue", "nn-0123456789ab.nnue")
    assert not is_whole("nn", "nn-0123456789ab.nnue")
    assert not is_whole(".*", "x" * (MOST_SUBJECT + 1))


@pytest.mark.parametrize("pattern", [r"(a|aa|\\)*b", "(a+)+$", "(a|a)*b", "a*a*a*a*a*a*b"])
def test_what_runs_away_elsewhere_is_only_a_pattern_here(pattern: str) -> None:
    check(pattern)
    assert not is_found(pattern, "a" * 199 + "x")
    assert not is_whole(pattern, "a" * 199 + "x")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(a)\1", "not understood"),
        ("a(?!b)", "not understood"),
        ("^(?!a", "no end"),
        ("(", "missing"),
        ("x" * (MOST_CHARACTERS + 1), "more than"),
        (r"(((\pL{10}){10}){10})", "too large"),
        ("\ud800", "not text"),
    ],
)
def test_what_is_not_understood_is_refused_and_lets_nobody_through(pattern: str, why: str) -> None:
    with pytest.raises(BadPattern, match=why):
        check(pattern)
    assert not is_found(pattern, "aa")
    assert not is_whole(pattern, "aa")


@pytest.mark.parametrize("pattern", [r"\d+(?<=1) nodes", r"\pN nodes", "n\xf6des", "(" * 500])
def test_a_pattern_of_a_bench_is_one_that_workers_know_too(pattern: str) -> None:
    check_for_workers(r"(?i)nodes searched\s*:\s*(\d+)")
    with pytest.raises(BadPattern):
        check_for_workers(pattern)
