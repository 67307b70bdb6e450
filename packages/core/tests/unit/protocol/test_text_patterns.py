"""The part of regular expressions that filters understand: as Python's own, or not at all."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.protocol.text_patterns import TextPattern, UnknownPattern, parse_pattern

WORDS = ("", "a", "ab", "abc", "xaby", "a.b", "a%b_", "A", "a\nb", "$", "ba|b")


UNDERSTOOD = (
    *("", "a", "^a", "b$", "^$", "a.b", "a.*b", "^a.*.b$", r"a\.b"),
    *(r"\$", "a|^x.*y$", r"\|", "%", "_"),
)
REFUSED = (
    *("a*", "a+", "a?", "(a)", "[a]", "a{2}", r"\d", r"\1", "\\", "a^", "$a", "*"),
    *("x" * 201, "a.*" * 6),
)


@pytest.mark.parametrize("pattern", UNDERSTOOD)
@pytest.mark.parametrize("ignore_case", [False, True])
def test_a_pattern_finds_what_it_finds_elsewhere(pattern: str, ignore_case: bool) -> None:
    flags = re.DOTALL | (re.IGNORECASE if ignore_case else 0)
    ours = parse_pattern(pattern, ignore_case=ignore_case)
    for word in WORDS:
        assert ours.describes(word) is (re.search(pattern, word, flags) is not None), word


@pytest.mark.parametrize("pattern", REFUSED)
def test_anything_else_is_not_understood(pattern: str) -> None:
    with pytest.raises(UnknownPattern):
        parse_pattern(pattern, ignore_case=False)


@given(st.text(st.sampled_from("ab.*^$|\\(%_"), max_size=12), st.text("ab.%_", max_size=8))
def test_what_is_understood_means_the_same_as_elsewhere(pattern: str, text: str) -> None:
    try:
        ours: TextPattern = parse_pattern(pattern, ignore_case=False)
    except UnknownPattern:
        return
    assert ours.describes(text) is (re.search(pattern, text, re.DOTALL) is not None)
