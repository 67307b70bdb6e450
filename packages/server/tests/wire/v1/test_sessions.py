"""The JSON API from a browser's session: reading by the cookie, changing by the cookie and the
token that only our own pages know."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from rookery.core.model.actor import Actor
from rookery.server.identity.users import User
from tests.people import BORIS, OLGA
from tests.submissions import SPRT, body
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio

RUNS = "/api/v1/runs"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        yield opened


async def csrf_of(api: Api, user: User) -> str:
    """The token of the session that is opened by logging in."""
    await with_password(api, user)
    assert (await log_in(api.visitor, username=user.name)).status_code == 302
    return token_in(await api.visitor.get("/"))


async def submit(api: Api, **headers: str) -> httpx.Response:
    return await api.visitor.post(RUNS, json=body(sprt=SPRT), headers=headers)


async def test_a_session_reads_what_takes_an_account(api: Api) -> None:
    assert (await api.visitor.get("/api/v1/users")).status_code == 401
    await csrf_of(api, OLGA)
    assert (await api.visitor.get("/api/v1/users")).status_code == 200


async def test_a_session_with_its_token_changes_something(api: Api) -> None:
    token = await csrf_of(api, OLGA)
    made = await submit(api, **{"x-csrf-token": token})
    assert made.status_code == 201
    run = await api.fleet.views.known_run(made.json()["id"])
    assert run.plan.owner == "olga"


async def test_the_cookie_alone_changes_nothing(api: Api) -> None:
    await csrf_of(api, OLGA)
    refused = await submit(api)
    assert (refused.status_code, "x-csrf-token" in refused.text.lower()) == (401, True)
    assert (await submit(api, **{"x-csrf-token": "0" * 32})).status_code == 401
    assert (await submit(api, origin="https://evil.example")).status_code == 401
    assert await api.fleet.views.active() == ()


async def test_an_approver_approves_by_session(api: Api) -> None:
    run_id = await api.submitted(OLGA)
    token = await csrf_of(api, BORIS)
    path = f"{RUNS}/{run_id}/approve"
    approved = await api.visitor.post(path, headers={"x-csrf-token": token})
    assert (approved.status_code, approved.json()["approver"]) == (200, "boris")


async def test_groups_are_changed_by_session(api: Api) -> None:
    token = await csrf_of(api, BORIS)
    changed = await api.visitor.patch(
        "/api/v1/users/sven", json={"groups": ["approvers"]}, headers={"x-csrf-token": token}
    )
    assert changed.status_code == 200


async def test_a_shown_token_counts_and_not_the_session_beside_it(api: Api) -> None:
    token = await csrf_of(api, BORIS)
    run_id = await api.submitted(OLGA)
    headers = {**await api.headers(OLGA), "x-csrf-token": token}
    refused = await api.visitor.post(f"{RUNS}/{run_id}/approve", headers=headers)
    assert refused.status_code == 403
    nonsense = {"authorization": "Bearer rk_nonsense", "x-csrf-token": token}
    assert (await api.visitor.get("/api/v1/users", headers=nonsense)).status_code == 401


async def test_the_session_of_a_blocked_user_counts_for_nothing(api: Api) -> None:
    token = await csrf_of(api, OLGA)
    user = await api.site.users.by_name("olga")
    assert user is not None
    await api.site.users.save(replace(user, blocked=True))
    api.clock.move(seconds=3)
    assert (await submit(api, **{"x-csrf-token": token})).status_code == 401
    assert (await api.visitor.get("/api/v1/users")).status_code == 401


async def test_why_a_machine_is_blocked_is_told_to_an_approvers_session(api: Api) -> None:
    await api.fleet.commands.block(
        "wanda-4cores-6d000000", "bad memory", Actor("boris", approver=True)
    )
    await csrf_of(api, BORIS)
    (worker,) = (await api.visitor.get("/api/v1/workers")).json()["workers"]
    assert worker["message"] == "bad memory"
