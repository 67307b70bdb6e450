"""Worker credentials: checked at every call, hashed almost never."""

import asyncio
import secrets
from dataclasses import replace

import pytest

from rookery.core.boundary.errors import Overloaded
from rookery.core.boundary.offload import Threads
from rookery.server.identity.bearers import BEARER_SECONDS, Bearers
from rookery.server.identity.login import AccountBlocked, Throttled, WrongCredentials
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.users import Scope, TokenWithSecret, User, mint
from rookery.server.identity.worker_credentials import (
    REREAD_SECONDS,
    REREADS_PER_SPAN,
    VerifiedUser,
    WorkerCredentials,
)
from rookery.server.identity.worker_tokens import WorkerTokens
from tests.fakes import HandClock
from tests.people import make_ada
from tests.twins.people import MemoryTokens, MemoryUsers

pytestmark = pytest.mark.anyio

HERE = "192.0.2.7"


def make_bob() -> User:
    return replace(make_ada(), name="bob")


class CountingPasswords(Passwords):
    """The password is right when it is the stored hash."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(Threads(), clock, b"key")
        self.checks = 0
        self.overloaded = False

    async def matches(self, name: str, hashed: str, password: str) -> bool:
        if self.overloaded:
            raise Overloaded("hash")
        self.checks += 1
        await asyncio.sleep(0)
        return hashed == password


class Scene:
    def __init__(self, *users: User) -> None:
        self.clock = HandClock()
        self.passwords = CountingPasswords(self.clock)
        self.users = MemoryUsers(*users)
        self.rows = MemoryTokens(self.users)
        self.credentials = self.anew()

    def anew(self, key: bytes = b"seal key") -> WorkerCredentials:
        """As after a restart."""
        bearers = Bearers(self.rows, self.users, self.clock)
        tokens = WorkerTokens(bearers, self.rows, self.clock)
        return WorkerCredentials(self.users, self.passwords, tokens, self.clock, key)

    async def mint(self, owner: str = "ada") -> TokenWithSecret:
        """A token for the owner's machines."""
        minted = mint(
            owner, frozenset({Scope.WORKER}), now=self.clock.now(), chance=secrets.token_bytes
        )
        await self.rows.add(minted.token)
        return minted

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


async def test_a_check_that_was_not_made_is_no_guess() -> None:
    scene = Scene(make_ada())
    scene.passwords.overloaded = True
    for _ in range(20):
        with pytest.raises(Overloaded):
            await scene.check()
    scene.passwords.overloaded = False
    assert (await scene.check()).user.name == "ada"


async def test_an_unknown_name_is_refused_like_a_wrong_password() -> None:
    scene = Scene()
    with pytest.raises(WrongCredentials):
        await scene.check(name="nobody")
    assert scene.passwords.checks == 1


async def test_a_blocked_user_is_refused_once_rows_are_read_again() -> None:
    scene = Scene(make_ada())
    await scene.check()
    await scene.users.save(make_ada(blocked=True))
    await scene.credentials.reread_callers()
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
    scene.credentials.forget("ada")
    assert scene.credentials.find_verified("ada", "right") is None
    assert await scene.credentials.reread("ada", "right") == verified
    assert scene.credentials.find_verified("ada", "right") == verified


async def test_reading_a_row_again_verifies_no_other_password_and_no_unknown_token() -> None:
    scene = Scene(make_ada())
    await scene.check()
    for password in ("wrong", (await scene.mint()).secret):
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
    other = scene.anew(b"another key")
    assert (await other.check("ada", "right", HERE)).seal != seal


async def test_a_worker_token_goes_where_the_password_goes() -> None:
    scene = Scene(make_ada())
    verified = await scene.check((await scene.mint()).secret)
    assert (verified.user.name, verified.seal) == ("ada", "")
    assert scene.passwords.checks == 0


async def test_a_token_is_good_for_its_owner_only() -> None:
    scene = Scene(make_ada(), make_bob())
    secret = (await scene.mint("bob")).secret
    await scene.check(secret, "bob")
    await scene.check()
    assert scene.credentials.find_verified("ada", secret) is None
    with pytest.raises(WrongCredentials):
        await scene.check(secret)


async def test_a_token_that_was_checked_is_known_for_as_long_as_its_machine_calls() -> None:
    scene = Scene(make_ada())
    secret = (await scene.mint()).secret
    await scene.check(secret)
    for _ in range(3 * REREADS_PER_SPAN):
        scene.clock.move(seconds=REREAD_SECONDS)
        await scene.credentials.reread_callers()
        assert scene.credentials.find_verified("ada", secret)


async def test_tokens_of_users_whose_workers_are_gone_are_forgotten() -> None:
    scene = Scene(make_ada())
    secret = (await scene.mint()).secret
    ada = (await scene.check(secret)).user
    for _ in range(2 * REREADS_PER_SPAN):
        await scene.credentials.reread_callers()
    assert not scene.credentials.tokens.holds(secret, ada)


async def test_a_token_whose_revocation_nobody_told_of_ends_when_rows_are_read_again() -> None:
    scene = Scene(make_ada())
    minted = await scene.mint()
    await scene.check(minted.secret)
    await scene.rows.revoke(minted.token.id, scene.clock.now())
    await scene.credentials.reread_callers()
    scene.clock.move(seconds=BEARER_SECONDS)
    with pytest.raises(WrongCredentials):
        await scene.check(minted.secret)


async def test_a_changed_user_keeps_the_tokens_of_their_machines() -> None:
    scene = Scene(make_ada())
    secret = (await scene.mint()).secret
    await scene.check(secret)
    await scene.users.save(make_ada(machine_limit=3))
    scene.credentials.forget("ada")
    verified = await scene.credentials.reread("ada", secret)
    assert verified is not None
    assert verified.user.machine_limit == 3


async def test_tokens_that_machines_used_lately_are_known_after_a_restart() -> None:
    scene = Scene(make_ada())
    lately, long_ago = await scene.mint(), await scene.mint()
    await scene.rows.note_uses({long_ago.token.id: scene.clock.now()})
    scene.clock.move(days=2)
    await scene.rows.note_uses({lately.token.id: scene.clock.now()})
    credentials = scene.anew()
    await credentials.remember_recent_tokens()
    assert credentials.find_verified("ada", lately.secret)
    assert credentials.find_verified("ada", long_ago.secret) is None


async def test_an_endless_password_is_not_hashed() -> None:
    scene = Scene(make_ada())
    with pytest.raises(WrongCredentials):
        await scene.check("x" * 2000)
    assert scene.passwords.checks == 0
