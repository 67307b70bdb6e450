"""Passwords: what a guesser tries first is refused."""

from collections.abc import Sequence

import pytest

from rookery.people.passwords import (
    JUDGED_CHARACTERS,
    MOST_PARTS,
    WeakPassword,
    check_password,
    plain_score,
)
from rookery.people.users import Malformed

ABOUT = ("olga", "olga@example.org")


@pytest.mark.parametrize("password", ["", "short7!", "x" * 1025])
def test_length_is_limited_both_ways(password: str) -> None:
    with pytest.raises(Malformed):
        check_password(password, ABOUT, plain_score)


@pytest.mark.parametrize(
    "password",
    [
        "password",
        "12345678",
        "87654321",
        "aaaaaaaaaaaaaaaa",
        "olgaolga1",
        "qwertyuiop",
        "Password1",
    ],
)
def test_what_is_easy_to_guess_is_refused(password: str) -> None:
    with pytest.raises(WeakPassword):
        check_password(password, ABOUT, plain_score)


@pytest.mark.parametrize(
    "password",
    ["correct-horse-battery-7", "correct horse battery", "vB7#kq2Lx", "tavu-rilo-meso-9"],
)
def test_what_is_hard_to_guess_is_taken(password: str) -> None:
    check_password(password, ABOUT, plain_score)


def test_what_is_repeated_counts_once() -> None:
    with pytest.raises(WeakPassword):
        check_password("stockfish" * 9, ABOUT, plain_score)


def test_a_strong_part_anywhere_is_enough() -> None:
    check_password("a" * 16 + "vB7#kq2LxW", ABOUT)


def test_no_password_takes_the_judge_long() -> None:
    """Each of these characters may stand for letters, and the judge tries all ways to read them:
    the work grows much faster than the length, up to seconds for 72."""
    seen: list[str] = []

    def judge(part: str, about: Sequence[str]) -> int:
        del about
        seen.append(part)
        return 0

    with pytest.raises(WeakPassword):
        check_password("4@8({[<3691!|0$5+7%2abcegilostxz" * 30 + "x", ABOUT, judge)
    assert max(map(len, seen)) <= JUDGED_CHARACTERS
    assert len(seen) <= MOST_PARTS


def test_the_judge_of_this_installation_takes_four_words() -> None:
    check_password("tavu rilo meso pank 93", ABOUT)
    with pytest.raises(WeakPassword):
        check_password("password1", ABOUT)
