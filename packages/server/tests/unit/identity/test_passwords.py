"""Passwords: what a guesser tries first is refused; checks are slow and remembered briefly."""

import asyncio
from collections.abc import Sequence

import pytest

from rookery.core.boundary.errors import Overloaded
from rookery.core.boundary.offload import Threads
from rookery.server.identity.passwords import (
    JUDGED_CHARACTERS,
    LONGEST_PASSWORD,
    MOST_PARTS,
    NOBODYS_HASH,
    Passwords,
    WeakPassword,
    check_password,
    plain_score,
)
from rookery.server.identity.users import Malformed
from tests.fakes import HandClock

pytestmark = pytest.mark.anyio


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


@pytest.fixture
def threads() -> Threads:
    return Threads()


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def passwords(threads: Threads, clock: HandClock) -> Passwords:
    return Passwords(threads, clock, b"key")


def checks_made(threads: Threads) -> int:
    return threads.stats()[2].calls


async def test_the_right_password_matches_and_others_do_not(passwords: Passwords) -> None:
    hashed = await passwords.hash("secret")
    assert hashed.startswith("$argon2id$")
    assert await passwords.matches("ada", hashed, "secret")
    assert not await passwords.matches("ada", hashed, "Secret")


async def test_nobodys_hash_matches_nothing(passwords: Passwords) -> None:
    assert not await passwords.matches("bob", NOBODYS_HASH, "")


async def test_equal_checks_at_one_time_are_one(passwords: Passwords, threads: Threads) -> None:
    same = [passwords.matches("bob", NOBODYS_HASH, "x") for _ in range(5)]
    assert await asyncio.gather(*same) == [False] * 5
    assert checks_made(threads) == 1


async def test_a_verdict_is_remembered_for_a_while(
    passwords: Passwords, threads: Threads, clock: HandClock
) -> None:
    for _ in range(3):
        await passwords.matches("bob", NOBODYS_HASH, "x")
    assert checks_made(threads) == 1
    clock.move(seconds=31)
    await passwords.matches("bob", NOBODYS_HASH, "x")
    assert checks_made(threads) == 2


async def test_the_same_password_of_another_name_is_checked_anew(
    passwords: Passwords, threads: Threads
) -> None:
    await passwords.matches("bob", NOBODYS_HASH, "x")
    await passwords.matches("eve", NOBODYS_HASH, "x")
    assert checks_made(threads) == 2


async def test_a_huge_password_costs_nothing(passwords: Passwords, threads: Threads) -> None:
    assert not await passwords.matches("bob", NOBODYS_HASH, "x" * (LONGEST_PASSWORD + 1))
    assert checks_made(threads) == 0


async def test_a_hash_that_is_none_matches_nothing(passwords: Passwords) -> None:
    assert not await passwords.matches("bob", "not a hash", "x")


async def test_a_password_is_not_wrong_where_the_machine_has_no_memory_to_check_it() -> None:
    passwords = Passwords(Threads(), HandClock(), b"key")
    four_tebibytes = NOBODYS_HASH.replace("m=19456", f"m={2**32 - 1}")
    assert four_tebibytes != NOBODYS_HASH
    with pytest.raises(Overloaded):
        await passwords.matches("ada", four_tebibytes, "right")
