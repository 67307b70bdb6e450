"""Worker credentials: checked at every call, hashed almost never."""

import asyncio
from dataclasses import replace

import pytest

from rookery.boundary.offload import Threads
from rookery.people.login import AccountBlocked, Throttled, WrongCredentials
from rookery.people.passwords import Passwords
from rookery.people.users import User
from rookery.people.worker_credentials import (
    REREAD_SECONDS,
    REREADS_PER_SPAN,
    USER_SECONDS,
    VerifiedUser,
    WorkerCredentials,
)
from tests.fakes import HandClock
from tests.people import make_ada
from tests.twins.people import MemoryUsers

pytestmark = pytest.mark.anyio

HERE = "192.0.2.7"


class CountingPasswords(Passwords):
    """The password is right when it is the stored hash."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(Threads(), clock, b"key")
        self.checks = 0

    async def matches(self, name: str, hashed: str, password: str) -> bool:
        self.checks += 1
        await asyncio.sleep(0)
        return hashed == password


class OneToken:
    """A token that is valid until it is taken back."""

    def __init__(self, owner: str | None = "ada") -> None:
        self.whose = owner
        self.asked = 0

    async def find_worker_owner(self, token: str) -> str | None:
        self.asked += 1
        return self.whose if token == "rkw_right" else None


class Scene:
    def __init__(self, *users: User, tokens: OneToken | None = None) -> None:
        self.clock = HandClock()
        self.passwords = CountingPasswords(self.clock)
        self.users = MemoryUsers(*users)
        self.tokens = tokens or OneToken()
        self.credentials = self.anew()

    def anew(self) -> WorkerCredentials:
        """As after a restart."""
        return WorkerCredentials(self.users, self.passwords, self.tokens, self.clock, b"seal key")

    async def check(self, password: str = "right", name: str = "ada") -> VerifiedUser:
        return await self.credentials.check(name, password, HERE)


async def test_right_credentials_are_hashed_once_and_then_known() -> None:
    scene = Scene(make_ada())
    assert scene.credentials.find_verified("ada", "right") is None
    verified = await scene.check()
    assert scene.credentials.find_verified("ada", "right") == verified
    scene.clock.move(hours=5)
    assert await scene.check() == verified
    assert scene.passwords.checks == 1


async def test_equal_checks_at_one_time_are_made_once() -> None:
    scene = Scene(make_ada())
    await asyncio.gather(*(scene.check() for _ in range(100)))
    assert scene.passwords.checks == 1


async def test_wrong_ones_are_remembered_for_a_moment() -> None:
    scene = Scene(make_ada())
    for _ in range(10):
        with pytest.raises(WrongCredentials):
            await scene.check("wrong")
    assert scene.passwords.checks == 1
    scene.clock.move(seconds=31)
    with pytest.raises(WrongCredentials):
        await scene.check("wrong")
    assert scene.passwords.checks == 2


async def test_guessing_is_throttled_and_the_rightful_user_is_not() -> None:
    scene = Scene(make_ada())
    await scene.check()
    for number in range(6):
        with pytest.raises(WrongCredentials):
            await scene.check(f"guess {number}")
    with pytest.raises(Throttled):
        await scene.check("another guess")
    scene.clock.move(seconds=61)
    assert (await scene.check()).user.name == "ada"


async def test_an_unknown_name_is_refused_like_a_wrong_password() -> None:
    scene = Scene()
    with pytest.raises(WrongCredentials):
        await scene.check(name="nobody")
    assert scene.passwords.checks == 1


async def test_a_blocked_user_is_refused_within_a_minute() -> None:
    scene = Scene(make_ada())
    await scene.check()
    await scene.users.save(make_ada(blocked=True))
    scene.clock.move(seconds=61)
    with pytest.raises(AccountBlocked):
        await scene.check()
    assert scene.passwords.checks == 1


async def test_a_change_that_is_told_counts_at_once() -> None:
    scene = Scene(make_ada())
    await scene.check()
    await scene.users.save(make_ada(blocked=True))
    scene.credentials.forget("ada")
    with pytest.raises(AccountBlocked):
        await scene.check()


async def test_an_old_password_is_wrong_once_it_was_changed() -> None:
    scene = Scene(make_ada())
    await scene.check()
    await scene.users.save(make_ada("new"))
    scene.credentials.forget("ada")
    with pytest.raises(WrongCredentials):
        await scene.check("right")
    assert (await scene.check("new")).user.name == "ada"


async def test_a_seal_that_was_kept_needs_no_hashing_after_a_restart() -> None:
    scene = Scene(make_ada())
    seal = (await scene.check()).seal
    scene.credentials = scene.anew()
    scene.credentials.adopt_seals([seal, ""])
    assert (await scene.check()).seal == seal
    assert scene.passwords.checks == 1


async def test_a_row_that_is_read_again_verifies_who_was_verified_before() -> None:
    scene = Scene(make_ada())
    assert await scene.credentials.reread("ada", "right") is None
    verified = await scene.check()
    scene.clock.move(minutes=2)
    assert scene.credentials.find_verified("ada", "right") is None
    assert await scene.credentials.reread("ada", "right") == verified
    assert scene.credentials.find_verified("ada", "right") == verified


async def test_reading_a_row_again_verifies_no_other_password_and_no_token() -> None:
    scene = Scene(make_ada())
    await scene.check()
    await scene.check("rkw_right")
    for password in ("wrong", "rkw_right"):
        assert await scene.credentials.reread("ada", password) is None
    assert await scene.credentials.reread("nobody", "right") is None


async def test_users_whose_workers_call_stay_known_without_a_query_in_a_call() -> None:
    scene = Scene(make_ada())
    verified = await scene.check()
    for _ in range(10):
        scene.clock.move(seconds=REREAD_SECONDS)
        assert scene.credentials.find_verified("ada", "right") == verified
        await scene.credentials.reread_callers()


async def test_a_block_that_nobody_told_of_counts_when_rows_are_read_again() -> None:
    scene = Scene(make_ada())
    await scene.check()
    scene.credentials.find_verified("ada", "right")
    await scene.users.save(replace(make_ada(), blocked=True))
    await scene.credentials.reread_callers()
    with pytest.raises(AccountBlocked):
        scene.credentials.find_verified("ada", "right")


async def test_users_whose_workers_are_gone_are_not_read_again_for_ever() -> None:
    scene = Scene(make_ada())
    await scene.check()
    scene.credentials.find_verified("ada", "right")
    for _ in range(2 * REREADS_PER_SPAN):
        await scene.credentials.reread_callers()
    scene.clock.move(seconds=2 * USER_SECONDS)
    await scene.credentials.reread_callers()
    assert scene.credentials.find_verified("ada", "right") is None


async def test_a_kept_seal_is_void_once_the_password_was_changed() -> None:
    scene = Scene(make_ada())
    seal = (await scene.check()).seal
    await scene.users.save(make_ada("new"))
    scene.credentials = scene.anew()
    scene.credentials.adopt_seals([seal])
    with pytest.raises(WrongCredentials):
        await scene.check("right")


async def test_a_seal_tells_nothing_without_the_key() -> None:
    scene = Scene(make_ada())
    seal = (await scene.check()).seal
    other = WorkerCredentials(
        scene.users, scene.passwords, scene.tokens, scene.clock, b"another key"
    )
    assert (await other.check("ada", "right", HERE)).seal != seal


async def test_a_worker_token_goes_where_the_password_goes() -> None:
    scene = Scene(make_ada())
    verified = await scene.check("rkw_right")
    assert (verified.user.name, verified.seal) == ("ada", "")
    await scene.check("rkw_right")
    assert (scene.tokens.asked, scene.passwords.checks) == (1, 0)


async def test_a_token_is_good_for_its_owner_only() -> None:
    scene = Scene(make_ada(), tokens=OneToken("bob"))
    with pytest.raises(WrongCredentials):
        await scene.check("rkw_right")


async def test_a_token_that_was_taken_back_counts_for_a_minute_at_most() -> None:
    scene = Scene(make_ada())
    await scene.check("rkw_right")
    scene.tokens.whose = None
    scene.clock.move(seconds=61)
    with pytest.raises(WrongCredentials):
        await scene.check("rkw_right")


async def test_an_endless_password_is_not_hashed() -> None:
    scene = Scene(make_ada())
    with pytest.raises(WrongCredentials):
        await scene.check("x" * 2000)
    assert scene.passwords.checks == 0
