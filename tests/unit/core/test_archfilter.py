"""Architecture filters select machines and can't be made to run for ever."""

import pytest

from rookery.core.archfilter import BadArchFilter, check, matches


def test_a_filter_is_searched_for_in_the_architecture() -> None:
    assert matches("avx2|bmi2", "x86-64-bmi2")
    assert not matches("^(?!.*x86)", "x86-64-bmi2")
    assert matches("^(?!.*x86)", "armv8")


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", r"(a)\1", "a*b*c*d*e*", "(", "x" * 200])
def test_what_could_run_away_is_refused_and_lets_nobody_through(pattern: str) -> None:
    with pytest.raises(BadArchFilter, match="the architecture filter"):
        check(pattern)
    assert not matches(pattern, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
