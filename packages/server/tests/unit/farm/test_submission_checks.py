"""All that is wrong with a submission is found in one pass, whatever else is wrong."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rookery.core.protocol.checks import WireFaults, find_field, list_faults
from rookery.core.protocol.codec import WireFault
from rookery.core.protocol.runs import Submission, read_submitted
from tests.submissions import SPRT, body, planned, submitted

WRONG: dict[str, object] = {
    "tc": "soon",
    "new_tag": " ",
    "base_tag": "",
    "new_options": "Hash",
    "base_options": "Hash=big",
    "new_nets": ["../etc/passwd"],
    "base_nets": ["a", "a"],
    "new_uci": {"Name\nquit": "x"},
    "new_engine": "Nobody",
    "new_tc": "late",
    "num_games": 7,
    "threads": 0,
    "book": "UHO.txt",
    "book_depth": "deep",
    "book_sri": "abc",
    "resolved_new": "master",
    "new_signature": "fast",
    "base_signature": "slow",
    "tests_repo": "file:///etc/passwd",
    "arch_filter": "sparc",
    "priority": 5000,
    "throughput": 0,
    "compiler": "icc",
    "rescheduled_from": "xyz",
    "sprt": {"elo0": 2.0, "elo1": 0.0},
    "resign": {"score": 600},
}
NAMES = {"sprt": "sprt.elo1", "resign": "resign.moves"}
NEEDS = {"new_nets": "new_engine"}
"""Nets are checked by the pattern of their engine."""


def faults_of(asked: Submission) -> dict[str, str]:
    try:
        planned(asked, "olga")
    except WireFault as found:
        return {find_field(each): str(each) for each in list_faults(found)}
    return {}


@given(st.sets(st.sampled_from(sorted(WRONG))))
def test_every_wrong_field_is_named_whatever_others_are_wrong(names: set[str]) -> None:
    asked = read_submitted(body(**{name: WRONG[name] for name in names}))
    found = {NAMES.get(name, name) for name in names if NEEDS.get(name) not in names}
    assert faults_of(asked).keys() == found


@given(st.sets(st.sampled_from(sorted(WRONG))))
def test_without_a_game_of_its_own_rule_a_tune_is_checked_like_any_other(names: set[str]) -> None:
    names -= {"sprt", "new_nets"}
    tune = {"raw_params": "a,b"}
    asked = read_submitted(body(spsa=tune, **{name: WRONG[name] for name in names}))
    # Both sides of a tune have the bench of the new one.
    expected = {NAMES.get(name, name) for name in names - {"base_signature"}}
    assert faults_of(asked).keys() == expected | {"spsa"}


@pytest.mark.parametrize("read", [lambda given: submitted(**given), read_submitted])
def test_the_text_of_all_is_that_of_the_first(read: Callable[[object], Submission]) -> None:
    with pytest.raises(WireFaults, match=r"^tc: ") as found:
        planned(read(body(tc="soon", book="x", priority=5000)), "olga")
    assert len(found.value.faults) == 3


def test_json_and_plain_values_are_the_same_submission() -> None:
    given = body(sprt=SPRT, new_uci={"A": "b"}, resign={"score": 600, "moves": 3})
    assert planned(read_submitted(given), "olga") == planned(submitted(**given), "olga")


def test_what_needs_a_wrong_field_is_left_out() -> None:
    wrong = read_submitted(body(new_engine="Nobody", new_nets=["../x"], reference_nps=9000))
    assert [*faults_of(wrong)] == ["new_engine"]


def test_the_games_of_a_test_with_wrong_bounds_are_not_missed() -> None:
    asked = read_submitted(body(sprt={"elo0": "low", "elo1": 2.0}, num_games=None))
    assert faults_of(asked).keys() == {"sprt.elo0"}
