"""Accounts through the JSON API."""

from collections.abc import AsyncIterator

import httpx
import msgspec
import pytest

from rookery.core.protocol import people, v1
from rookery.server.identity.users import APPROVERS, ORDINARY, Scope, User
from tests.people import BORIS, OLGA, SVEN
from tests.wire.apis import Api, Json, open_api

pytestmark = pytest.mark.anyio

ADMIN = frozenset({Scope.ADMIN})
ADA: Json = {"name": "ada", "password": "walnut orbit pickle tram", "email": "ada@example.org"}


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def patch(
    api: Api, name: str, wish: Json, user: User = BORIS, scopes: frozenset[Scope] = ADMIN
) -> httpx.Response:
    headers = {"authorization": f"Bearer {await api.token(user, scopes)}"}
    return await api.visitor.patch(f"/api/v1/users/{name}", json=wish, headers=headers)


def entry(answer: httpx.Response) -> people.UserEntry:
    return msgspec.json.decode(answer.content, type=people.UserEntry)


async def test_an_account_is_asked_for_and_accepted(api: Api) -> None:
    made = await api.visitor.post("/api/v1/users", json=ADA)
    assert (made.status_code, entry(made).pending) == (201, True)
    accepted = await patch(api, "ada", {"pending": False})
    assert (accepted.status_code, entry(accepted).pending) == (200, False)
    actions = await api.get("/api/v1/actions")
    found = msgspec.json.decode(actions.content, type=v1.ActionList).actions
    (line,) = found
    assert (line.action, line.actor, line.subject) == ("accept_user", "boris", "ada")
    script = await api.visitor.post("/api/actions", json={"user": "ada", "action": "accept_user"})
    assert [line["message"] for line in script.json()] == ["accepted"]


@pytest.mark.parametrize(
    "change", [{"password": "password1"}, {"name": "olga"}, {"email": "x"}, {"rank": 1}]
)
async def test_what_makes_no_account_is_refused(api: Api, change: Json) -> None:
    answer = await api.visitor.post("/api/v1/users", json={**ADA, **change})
    assert answer.status_code == 400


async def test_an_approver_blocks_and_limits(api: Api) -> None:
    blocked = await patch(api, "sven", {"blocked": True, "machine_limit": 2})
    assert (entry(blocked).blocked, entry(blocked).machine_limit) == (True, 2)
    assert (await api.get("/api/v1/users", SVEN)).status_code == 403


@pytest.mark.parametrize(
    "wish",
    [{"pending": False}, {"blocked": True}, {"machine_limit": 2}, {"groups": ["approvers"]}],
)
async def test_accounts_take_a_token_for_admin(api: Api, wish: Json) -> None:
    refused = await patch(api, "sven", wish, scopes=ORDINARY)
    assert (refused.status_code, "admin" in refused.text) == (403, True)
    assert (await patch(api, "sven", wish)).status_code == 200


@pytest.mark.parametrize(
    ("scope", "shown"), [(Scope.READ, False), (Scope.APPROVE, True), (Scope.ADMIN, True)]
)
async def test_what_approvers_see_of_accounts_takes_a_token_for_more_than_reading(
    api: Api, scope: Scope, shown: bool
) -> None:
    await api.visitor.post("/api/v1/users", json=ADA)
    scopes = frozenset({Scope.READ, scope})
    headers = {"authorization": f"Bearer {await api.token(BORIS, scopes)}"}
    one = (await api.visitor.get("/api/v1/users/sven", headers=headers)).json()
    listed = (await api.visitor.get("/api/v1/users", headers=headers)).json()["users"]
    for found in (one, next(each for each in listed if each["name"] == "sven")):
        told = {"blocked", "pending", "machine_limit", "groups"} & found.keys()
        assert bool(told) is shown
    waiting = await api.visitor.get("/api/v1/users/ada", headers=headers)
    assert (waiting.status_code == 200) is shown
    assert ("ada" in [each["name"] for each in listed]) is shown


async def test_somebody_is_made_an_approver(api: Api) -> None:
    assert entry(await patch(api, "sven", {"groups": ["approvers"]})).groups == (APPROVERS,)


async def test_others_may_not(api: Api) -> None:
    assert (await patch(api, "sven", {"blocked": True}, OLGA)).status_code == 403
    assert (await api.visitor.patch("/api/v1/users/sven", json={})).status_code == 401
    assert (await patch(api, "nobody", {"blocked": True})).status_code == 404
    assert (await patch(api, "boris", {"blocked": True})).status_code == 409
    assert (await patch(api, "sven", {"pending": True})).status_code == 400


async def test_who_waits_may_be_rejected(api: Api) -> None:
    await api.visitor.post("/api/v1/users", json=ADA)
    headers = dict(await api.headers(BORIS))
    assert (await api.visitor.delete("/api/v1/users/ada", headers=headers)).status_code == 403
    headers["authorization"] = f"Bearer {await api.token(BORIS, ADMIN)}"
    assert (await api.visitor.delete("/api/v1/users/ada", headers=headers)).status_code == 200
    assert (await api.visitor.delete("/api/v1/users/olga", headers=headers)).status_code == 409


async def test_who_waits_is_seen_by_approvers_alone(api: Api) -> None:
    await api.visitor.post("/api/v1/users", json=ADA)
    assert "ada" not in (await api.get("/api/v1/users", OLGA)).text
    assert (await api.get("/api/v1/users/ada", OLGA)).status_code == 404
    assert "ada" in (await api.get("/api/v1/users", BORIS)).text


async def test_users_see_more_of_themselves_than_of_others(api: Api) -> None:
    own, other = (
        await api.get("/api/v1/users/olga", OLGA),
        await api.get("/api/v1/users/sven", OLGA),
    )
    assert entry(own).machine_limit == 16
    assert entry(other).machine_limit is msgspec.UNSET
    assert "example.org" not in own.text
