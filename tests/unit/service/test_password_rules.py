"""Passwords: what a guesser tries first is refused."""

import pytest

from rookery.service.password_rules import BadLength, WeakPassword, check_password, plain_score

ABOUT = ("olga", "olga@example.org")


@pytest.mark.parametrize("password", ["", "short7!", "x" * 1025])
def test_length_is_limited_both_ways(password: str) -> None:
    with pytest.raises(BadLength):
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


def test_the_judge_of_this_installation_takes_four_words() -> None:
    check_password("tavu rilo meso pank 93", ABOUT)
    with pytest.raises(WeakPassword):
        check_password("password1", ABOUT)
