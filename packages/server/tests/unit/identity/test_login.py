"""Logging in: strangers learn nothing, and guessing is slow."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from rookery.core.boundary.errors import Overloaded
from rookery.core.boundary.offload import Threads
from rookery.server.identity.login import (
    AccountBlocked,
    AccountPending,
    Login,
    Throttle,
    Throttled,
    TooManyLogins,
    WrongCredentials,
)
from rookery.server.identity.passwords import NOBODYS_HASH, Passwords
from rookery.server.identity.users import User
from tests.fakes import HandClock
from tests.twins.people import MemoryUsers

pytestmark = pytest.mark.anyio

HERE, ELSEWHERE = "192.0.2.1", "198.51.100.1"
TOO_LONG = "x" * 2000  # refused without hashing, which keeps these tests quick
ADA = User("ada", "a@b.c", "", frozenset(), False, False, 16, datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def passwords(clock: HandClock) -> Passwords:
    return Passwords(Threads(), clock, b"key")


@pytest.fixture
async def ada(passwords: Passwords) -> User:
    return replace(ADA, password_hash=await passwords.hash("secret"))


@pytest.fixture
def users(ada: User) -> MemoryUsers:
    return MemoryUsers(ada)


@pytest.fixture
def login(users: MemoryUsers, passwords: Passwords, clock: HandClock) -> Login:
    return Login(users, passwords, clock)


async def test_the_right_password_gives_the_user(login: Login, ada: User) -> None:
    assert await login.check("ada", "secret", HERE) == ada


async def test_unknown_names_and_wrong_passwords_read_the_same(login: Login) -> None:
    for name in ("ada", "bob"):
        with pytest.raises(WrongCredentials, match=r"^Unknown user name or wrong password\.$"):
            await login.check(name, "wrong", HERE)


async def test_blocked_and_pending_show_only_after_the_right_password(
    login: Login, users: MemoryUsers, ada: User
) -> None:
    await users.save(replace(ada, blocked=True))
    with pytest.raises(WrongCredentials):
        await login.check("ada", "wrong", HERE)
    with pytest.raises(AccountBlocked):
        await login.check("ada", "secret", HERE)
    await users.save(replace(ada, pending=True))
    with pytest.raises(AccountPending):
        await login.check("ada", "secret", HERE)


async def fail_often(login: Login, times: int) -> None:
    for _ in range(times):
        with pytest.raises(WrongCredentials):
            await login.check("ada", "wrong", HERE)


async def test_after_six_wrong_passwords_even_the_right_one_waits(
    login: Login, clock: HandClock, ada: User
) -> None:
    await fail_often(login, 6)
    with pytest.raises(Throttled):
        await login.check("ada", "secret", HERE)
    clock.move(minutes=1)
    assert await login.check("ada", "secret", HERE) == ada


async def test_a_guesser_does_not_lock_the_owner_out(login: Login, ada: User) -> None:
    await fail_often(login, 6)
    assert await login.check("ada", "secret", ELSEWHERE) == ada


async def test_logging_in_often_is_no_guessing(login: Login, ada: User) -> None:
    for _ in range(50):
        assert await login.check("ada", "secret", HERE) == ada


async def test_logging_in_without_end_waits_and_says_so(
    login: Login, clock: HandClock, ada: User
) -> None:
    for _ in range(60):
        await login.check("ada", "secret", HERE)
    with pytest.raises(TooManyLogins, match=r"^Too many logins\."):
        await login.check("ada", "secret", ELSEWHERE)
    clock.move(minutes=1)
    assert await login.check("ada", "secret", HERE) == ada


async def test_one_address_may_not_try_many_names(login: Login) -> None:
    for number in range(30):
        with pytest.raises(WrongCredentials):
            await login.check(f"user{number}", TOO_LONG, HERE)
    with pytest.raises(Throttled):
        await login.check("another", TOO_LONG, HERE)


async def test_a_household_is_one_origin_in_ipv6(login: Login) -> None:
    for number in range(6):
        with pytest.raises(WrongCredentials):
            await login.check("bob", TOO_LONG, f"2001:db8::{number}")
    with pytest.raises(Throttled):
        await login.check("bob", TOO_LONG, "2001:db8::99")


def test_a_bucket_leaks_steadily() -> None:
    throttle = Throttle(most=2, seconds=10)
    throttle.charge("a", now=0)
    throttle.charge("a", now=0)
    with pytest.raises(Throttled):
        throttle.charge("a", now=4)
    throttle.charge("a", now=5)


def test_the_oldest_keys_are_forgotten_first() -> None:
    throttle = Throttle(most=1, seconds=10, keys=2)
    for key in ("a", "b", "c"):
        throttle.charge(key, now=0)
    throttle.charge("a", now=0)
    with pytest.raises(Throttled):
        throttle.charge("c", now=0)


async def test_a_check_that_was_not_made_is_no_guess(
    passwords: Passwords, clock: HandClock
) -> None:
    too_large = replace(ADA, password_hash=NOBODYS_HASH.replace("m=19456", f"m={2**32 - 1}"))
    login = Login(MemoryUsers(too_large), passwords, clock)
    for _ in range(20):
        with pytest.raises(Overloaded):
            await login.check("ada", "secret", HERE)
