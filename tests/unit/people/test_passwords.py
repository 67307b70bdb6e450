"""Passwords are checked slowly, once, and remembered briefly."""

import asyncio

import pytest

from rookery.boundary.offload import Threads
from rookery.people.passwords import LONGEST_PASSWORD, NOBODYS_HASH, Passwords
from tests.fakes import HandClock

pytestmark = pytest.mark.anyio


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
