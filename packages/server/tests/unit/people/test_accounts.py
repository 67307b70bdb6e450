"""Accounts: asked for, accepted, changed and told of in the log."""

import asyncio
import secrets
from dataclasses import replace

import pytest

from rookery.core.boundary.offload import Threads
from rookery.core.errors import Complaint
from rookery.core.model.engine import STANDARD
from rookery.core.model.events import SYSTEM
from rookery.core.protocol.people import Application, MeChange, UserChange
from rookery.server.identity.accounts import Accounts, NewUser
from rookery.server.identity.links import LinkRefused
from rookery.server.identity.login import Throttled
from rookery.server.identity.passwords import Passwords
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.sign_up import SignUp
from rookery.server.identity.users import APPROVERS, AccountConflict, NotPermitted, Scope
from tests.fakes import HandClock
from tests.people import BORIS, OLGA
from tests.twins.farm_commits import MemoryRows
from tests.twins.people import MemoryAudit, MemoryTokens, MemoryUsers

pytestmark = pytest.mark.anyio

PASSWORD = "walnut orbit pickle tram"


def application(name: str, password: str, email: str) -> Application:
    return Application(name=name, password=password, email=email)


ADA = application("ada", PASSWORD, "ada@example.org")


@pytest.fixture
def rows() -> MemoryRows:
    return MemoryRows()


@pytest.fixture
def accounts(rows: MemoryRows) -> Accounts:
    users, clock = MemoryUsers(OLGA, BORIS), HandClock()
    passwords = Passwords(Threads(), clock, b"key")
    tokens = MemoryTokens(users)
    return Accounts(users, tokens, passwords, clock, secrets.token_bytes, MemoryAudit(rows))


def told(rows: MemoryRows) -> list[tuple[str, str, str, str]]:
    return [
        (str(each.action), each.actor, each.subject, each.message or "") for each in rows.events
    ]


async def test_a_new_account_waits_until_it_is_accepted(
    accounts: Accounts, rows: MemoryRows
) -> None:
    user = await SignUp(accounts).apply(ADA, "192.0.2.1")
    assert (user.pending, user.groups, user.machine_limit) == (True, frozenset(), 16)
    accepted = await accounts.change("ada", UserChange(pending=False), by="boris")
    assert not accepted.pending
    assert told(rows) == [("accept_user", "boris", "ada", "accepted")]


async def test_what_is_so_already_is_not_told_again(accounts: Accounts, rows: MemoryRows) -> None:
    await accounts.change("olga", UserChange(blocked=True), by="boris")
    await accounts.change("olga", UserChange(blocked=True), by="boris")
    await accounts.change("olga", UserChange(blocked=False))
    assert told(rows) == [
        ("block_user", "boris", "olga", "blocked"),
        ("block_user", SYSTEM, "olga", "unblocked"),
    ]


async def test_groups_and_limits_are_told(accounts: Accounts, rows: MemoryRows) -> None:
    wanted = UserChange(groups=(APPROVERS,), machine_limit=3)
    user = await accounts.change("olga", wanted, by="boris")
    assert (user.groups, user.machine_limit) == (frozenset({APPROVERS}), 3)
    assert [message for *_, message in told(rows)] == [
        "groups: group:approvers",
        "machine limit: 3",
    ]


async def test_nobody_takes_away_their_own_rights(accounts: Accounts) -> None:
    for wanted in (UserChange(blocked=True), UserChange(groups=())):
        with pytest.raises(AccountConflict, match="your own rights"):
            await accounts.change("boris", wanted, by="boris")


async def test_a_new_password_undoes_nothing_that_was_changed_meanwhile(
    accounts: Accounts,
) -> None:
    hashing = asyncio.create_task(accounts.set_password("boris", PASSWORD))
    await asyncio.sleep(0)
    change = UserChange(blocked=True, block_reason="a flood", groups=())
    blocked = await accounts.change("boris", change, by="olga")
    await hashing
    boris = await accounts.users.by_name("boris")
    assert boris is not None
    assert boris.password_hash != BORIS.password_hash
    assert replace(boris, password_hash=BORIS.password_hash) == blocked


async def test_a_link_to_a_new_password_works_once_for_two_who_come_together(
    accounts: Accounts,
) -> None:
    both = [accounts.set_password("olga", PASSWORD, linked=OLGA) for _ in range(2)]
    outcomes = await asyncio.gather(*both, return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["LinkRefused", "NoneType"]


async def test_only_the_address_that_a_link_is_for_is_confirmed(accounts: Accounts) -> None:
    await accounts.users.save(replace(OLGA, email="new@example.org"))
    with pytest.raises(LinkRefused):
        await accounts.confirm_email("olga", OLGA.email)
    await accounts.confirm_email("olga", "new@example.org")
    olga = await accounts.users.by_name("olga")
    assert olga is not None
    assert olga.is_verified


async def test_a_password_that_was_replaced_meanwhile_changes_no_address(
    accounts: Accounts,
) -> None:
    hashed = await accounts.passwords.hash("old")
    await accounts.users.save(replace(OLGA, password_hash=hashed))
    wanted = MeChange(email="thief@example.org", password=PASSWORD, current_password="old")
    change = asyncio.create_task(Profiles(accounts).change("olga", wanted, "192.0.2.1", STANDARD))
    await asyncio.sleep(0)
    await accounts.users.change("olga", lambda now: replace(now, password_hash="new"))
    with pytest.raises(NotPermitted, match="present password"):
        await change
    olga = await accounts.users.by_name("olga")
    assert olga == replace(OLGA, password_hash="new")


async def test_only_who_waits_is_rejected(accounts: Accounts) -> None:
    await SignUp(accounts).apply(ADA, "192.0.2.1")
    await accounts.reject("ada", by="boris")
    assert await accounts.users.by_name("ada") is None
    with pytest.raises(AccountConflict, match="waits for approval"):
        await accounts.reject("olga", by="boris")


@pytest.mark.parametrize(
    ("applicant", "words"),
    [
        (application("Olga", PASSWORD, "new@example.org"), "can't be used"),
        (application("ada", PASSWORD, "OLGA@example.org"), "can't be used"),
        (application("ada", PASSWORD, "nowhere"), "Give an e-mail address"),
        (application("ada", "password1", "ada@example.org"), "too easy to guess"),
        (application("a b", PASSWORD, "ada@example.org"), "letters and digits"),
    ],
)
async def test_what_makes_no_account_is_refused(
    accounts: Accounts, applicant: Application, words: str
) -> None:
    with pytest.raises(Complaint, match=words):
        await SignUp(accounts).apply(applicant, "192.0.2.1")
    assert await accounts.users.count() == 2


async def test_one_address_makes_a_few_accounts_only(accounts: Accounts) -> None:
    sign_up = SignUp(accounts)
    for number in range(5):
        name = f"ada{number}"
        await sign_up.apply(application(name, PASSWORD, f"{name}@example.org"), "192.0.2.1")
    with pytest.raises(Throttled):
        await sign_up.apply(ADA, "192.0.2.1")
    await sign_up.apply(ADA, "192.0.2.2")


async def test_a_site_may_take_nobody_in(accounts: Accounts) -> None:
    with pytest.raises(NotPermitted):
        await SignUp(accounts, is_open=False).apply(ADA, "192.0.2.1")


async def test_an_administrators_account_waits_for_nobody(
    accounts: Accounts, rows: MemoryRows
) -> None:
    user = await accounts.add(NewUser("ada", PASSWORD))
    assert not user.pending
    assert told(rows) == [("new_user", SYSTEM, "ada", "")]


async def test_passwords_and_tokens_are_told(accounts: Accounts, rows: MemoryRows) -> None:
    await accounts.set_password("olga", PASSWORD)
    minted = await accounts.create_token("olga", frozenset({Scope.READ}), note="mine", by="olga")
    await accounts.revoke(minted.token.id, by="boris")
    assert told(rows) == [
        ("change_password", SYSTEM, "olga", ""),
        ("new_token", "olga", "olga", f"{minted.token.id} for read"),
        ("revoke_token", "boris", "olga", minted.token.id),
    ]
