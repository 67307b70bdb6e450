"""One's own account over the JSON API: who one is, password, e-mail, repositories and tokens."""

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import httpx
import pytest

from rookery.server.http.session import unmask_token
from rookery.server.identity.profiles import MOST_TOKENS
from rookery.server.identity.users import ORDINARY, Scope, User, mint
from tests.people import BORIS, OLGA, SVEN, counting
from tests.submissions import SPRT, body
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, Json, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio

ME, TOKENS = "/api/v1/me", "/api/v1/tokens"
BETTER = "walnut orbit pickle tram"
FORK = "https://github.com/olga/Stockfish-fork"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api() as opened:
        await with_password(opened, OLGA)
        yield opened


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody at a browser, with the token of their session."""

    browser: httpx.AsyncClient
    csrf: str

    async def send(self, method: str, path: str, wish: Json | None = None) -> httpx.Response:
        headers = {"x-csrf-token": self.csrf}
        return await self.browser.request(method, path, json=wish, headers=headers)


async def logged_in(api: Api, user: User = OLGA) -> Person:
    transport = httpx.ASGITransport(api.app, client=("192.0.2.9", 1))
    browser = httpx.AsyncClient(transport=transport, base_url="http://localhost")
    assert (await log_in(browser, username=user.name)).status_code == 302
    return Person(browser, token_in(await browser.get("/")))


async def by_token(
    api: Api, method: str, path: str, wish: Json | None = None, *scopes: Scope, user: User = OLGA
) -> httpx.Response:
    secret = await api.token(user, frozenset(scopes) or ORDINARY)
    headers = {"authorization": f"Bearer {secret}"}
    return await api.visitor.request(method, path, json=wish, headers=headers)


def basic(name: str, password: str) -> dict[str, str]:
    text = base64.b64encode(f"{name}:{password}".encode()).decode()
    return {"authorization": f"Basic {text}"}


async def test_everybody_may_ask_who_they_are(api: Api) -> None:
    shown = (await by_token(api, "GET", ME)).json()
    assert (shown["name"], shown["email"], shown["approver"]) == ("olga", OLGA.email, False)
    assert (shown["repositories"], shown["scopes"]) == ({}, ["approve", "read", "submit"])
    assert "csrf_token" not in shown
    assert (await api.visitor.get(ME)).status_code == 401


async def test_a_session_is_told_its_token(api: Api) -> None:
    person = await logged_in(api)
    answer = await person.browser.get(ME)
    assert unmask_token(answer.json()["csrf_token"]) == unmask_token(person.csrf)
    assert answer.headers["cache-control"] == "no-store"


async def test_a_workers_token_tells_nothing_of_its_owner(api: Api) -> None:
    assert (await by_token(api, "GET", ME, None, Scope.WORKER)).status_code == 403


async def test_a_new_password_takes_the_old_one(api: Api) -> None:
    person = await logged_in(api)
    for wish in ({}, {"current_password": "wrong"}):
        refused = await person.send("PATCH", ME, {"password": BETTER, **wish})
        assert refused.status_code == 403
    changed = await person.send("PATCH", ME, {"password": BETTER, "current_password": PASSWORD})
    assert changed.status_code == 200
    api.clock.move(seconds=3)
    assert (await log_in(api.visitor, username="olga", password=BETTER)).status_code == 302


async def test_a_new_password_ends_every_other_session(api: Api) -> None:
    here, elsewhere = await logged_in(api), await logged_in(api)
    await here.send("PATCH", ME, {"password": BETTER, "current_password": PASSWORD})
    assert (await here.browser.get(ME)).status_code == 200
    assert (await elsewhere.browser.get(ME)).status_code == 401
    assert (await here.send("PATCH", ME, {"repositories": {}})).status_code == 401
    csrf = (await here.browser.get(ME)).json()["csrf_token"]
    again = Person(here.browser, csrf)
    assert (await again.send("PATCH", ME, {"repositories": {}})).status_code == 200


async def test_guessing_the_old_password_is_throttled(api: Api) -> None:
    person = await logged_in(api)
    guess: Json = {"password": BETTER, "current_password": "guess"}
    said = [(await person.send("PATCH", ME, guess)).status_code for _ in range(7)]
    assert said == [403] * 6 + [429]
    right: Json = {"password": BETTER, "current_password": PASSWORD}
    assert (await person.send("PATCH", ME, right)).status_code == 429


async def test_a_weak_password_is_refused(api: Api) -> None:
    person = await logged_in(api)
    wish: Json = {"password": "password1", "current_password": PASSWORD}
    assert (await person.send("PATCH", ME, wish)).status_code == 400


async def test_the_e_mail_address_takes_the_password_too(api: Api) -> None:
    person = await logged_in(api)
    wish: Json = {"email": "olga@example.net"}
    assert (await person.send("PATCH", ME, wish)).status_code == 403
    changed = await person.send("PATCH", ME, {**wish, "current_password": PASSWORD})
    assert changed.json()["email"] == "olga@example.net"
    taken: Json = {"email": BORIS.email.upper(), "current_password": PASSWORD}
    assert (await person.send("PATCH", ME, taken)).status_code == 400
    nonsense: Json = {"email": "nonsense", "current_password": PASSWORD}
    assert (await person.send("PATCH", ME, nonsense)).status_code == 400


async def test_what_is_changed_is_told_to_its_owner_alone(api: Api) -> None:
    person = await logged_in(api)
    wish: Json = {"email": "olga@example.net", "password": BETTER, "current_password": PASSWORD}
    await person.send("PATCH", ME, wish)
    for reader, told in ((SVEN, []), (OLGA, ["change_email", "change_password"])):
        answer = await api.get("/api/v1/actions", reader)
        assert sorted(line["action"] for line in answer.json()["actions"]) == told
        assert "example.net" not in answer.text


async def test_a_token_changes_repositories(api: Api) -> None:
    wish: Json = {"repositories": {"Stockfish": f"{FORK}.git"}}
    changed = await by_token(api, "PATCH", ME, wish)
    assert changed.json()["repositories"] == {"Stockfish": FORK}
    removed = await by_token(api, "PATCH", ME, {"repositories": {"Stockfish": None}})
    assert removed.json()["repositories"] == {}
    assert (await by_token(api, "PATCH", ME, wish, Scope.READ)).status_code == 403


async def test_what_is_changed_leaves_alone_what_others_changed_meanwhile(api: Api) -> None:
    headers = dict(await api.headers(OLGA))
    await api.visitor.get(ME, headers=headers)
    user = await api.site.users.by_name("olga")
    assert user is not None
    await api.site.users.save(replace(user, machine_limit=1))
    wish: Json = {"repositories": {"Stockfish": FORK}}
    changed = await api.visitor.patch(ME, json=wish, headers=headers)
    assert changed.json()["machine_limit"] == 1
    shown = (await api.visitor.get(ME, headers=headers)).json()
    assert (shown["machine_limit"], shown["repositories"]) == (1, {"Stockfish": FORK})


@pytest.mark.parametrize("wish", [{"Nobody": FORK}, {"Stockfish": "nonsense"}, {"Stockfish": 1}])
async def test_a_repository_of_nothing_known_is_refused(api: Api, wish: Json) -> None:
    assert (await by_token(api, "PATCH", ME, {"repositories": wish})).status_code == 400


async def test_a_run_is_built_from_its_submitters_own_repository(api: Api) -> None:
    await by_token(api, "PATCH", ME, {"repositories": {"Stockfish": FORK}})
    args = {name: value for name, value in body(sprt=SPRT).items() if name != "tests_repo"}
    made = await api.post("/api/v1/runs", OLGA, args)
    assert made.status_code == 201, made.text
    new, base = (await api.fleet.views.known_run(made.json()["id"])).plan.sides
    assert (new.repository, base.repository) == (
        FORK,
        "https://github.com/official-stockfish/Stockfish",
    )
    named = await api.submitted(OLGA)
    assert (await api.fleet.views.known_run(named)).plan.new.repository != FORK


async def test_a_token_is_made_by_session_and_counts(api: Api) -> None:
    person = await logged_in(api)
    made = await person.send("POST", TOKENS, {"scopes": ["read"], "days": 3, "note": "laptop"})
    assert (made.status_code, made.headers["cache-control"]) == (201, "no-store")
    entry = made.json()["token"]
    assert (entry["scopes"], entry["note"], entry["valid"]) == (["read"], "laptop", True)
    headers = {"authorization": f"Bearer {made.json()['secret']}"}
    assert (await api.visitor.get(ME, headers=headers)).json()["scopes"] == ["read"]
    api.clock.move(seconds=timedelta(days=3, seconds=1).total_seconds())
    assert (await api.visitor.get(ME, headers=headers)).status_code == 401


async def test_a_token_is_made_by_name_and_password(api: Api) -> None:
    made = await api.visitor.post(TOKENS, json={}, headers=basic("olga", PASSWORD))
    assert (made.status_code, made.json()["token"]["scopes"]) == (
        201,
        ["approve", "read", "submit"],
    )
    guesses = [
        (await api.visitor.post(TOKENS, json={}, headers=basic("olga", f"guess {number}")))
        for number in range(7)
    ]
    assert [guess.status_code for guess in guesses] == [401] * 6 + [429]


async def test_a_workers_token_is_no_password_here(api: Api) -> None:
    worker = await api.token(OLGA, frozenset({Scope.WORKER}))
    refused = await api.visitor.post(TOKENS, json={}, headers=basic("olga", worker))
    assert refused.status_code == 403


async def test_a_token_makes_no_tokens(api: Api) -> None:
    """Or whoever finds one would outlive its revocation."""
    for scope in Scope:
        assert (await by_token(api, "POST", TOKENS, {}, scope)).status_code == 403


async def test_a_workers_token_stands_alone(api: Api) -> None:
    person = await logged_in(api)
    mixed = await person.send("POST", TOKENS, {"scopes": ["worker", "read"]})
    assert mixed.status_code == 400
    made = await person.send("POST", TOKENS, {"scopes": ["worker"]})
    assert made.json()["secret"].startswith("rkw_")


@pytest.mark.parametrize("wish", [{"scopes": ["root"]}, {"scopes": []}, {"days": 0}, {"user": "x"}])
async def test_nonsense_makes_no_token(api: Api, wish: Json) -> None:
    assert (await (await logged_in(api)).send("POST", TOKENS, wish)).status_code == 400


async def test_tokens_are_listed_with_their_last_use_and_without_their_secrets(api: Api) -> None:
    secret = await api.token(OLGA)
    await api.token(BORIS)
    headers = {"authorization": f"Bearer {secret}"}
    await api.visitor.get(TOKENS, headers=headers)
    await api.site.bearers.flush()
    answer = await api.visitor.get(TOKENS, headers=headers)
    (entry,) = answer.json()["tokens"]
    assert (entry["current"], entry["valid"], "used" in entry) == (True, True, True)
    assert secret not in answer.text


async def test_a_revoked_token_counts_no_more(api: Api) -> None:
    secret = await api.token(OLGA)
    headers = {"authorization": f"Bearer {secret}"}
    (entry,) = (await api.visitor.get(TOKENS, headers=headers)).json()["tokens"]
    revoked = await api.visitor.delete(f"{TOKENS}/{entry['id']}", headers=headers)
    assert (revoked.status_code, revoked.json()["valid"]) == (200, False)
    assert (await api.visitor.get(TOKENS, headers=headers)).status_code == 401


async def test_a_token_revokes_itself_and_others_only_where_it_may_submit(api: Api) -> None:
    other = mint("olga", ORDINARY, now=api.clock.now(), chance=counting()).token
    await api.tokens.add(other)
    path = f"{TOKENS}/{other.id}"
    assert (await by_token(api, "DELETE", path, None, Scope.READ)).status_code == 403
    assert (await by_token(api, "DELETE", path, None, Scope.SUBMIT)).status_code == 200
    worker = await api.token(OLGA, frozenset({Scope.WORKER}))
    (mine,) = [each for each in await api.tokens.of("olga") if Scope.WORKER in each.scopes]
    headers = {"authorization": f"Bearer {worker}"}
    assert (await api.visitor.delete(f"{TOKENS}/{mine.id}", headers=headers)).status_code == 200


async def test_the_token_of_another_is_as_if_it_were_not(api: Api) -> None:
    theirs = mint("boris", ORDINARY, now=api.clock.now(), chance=counting()).token
    await api.tokens.add(theirs)
    hidden = await by_token(api, "DELETE", f"{TOKENS}/{theirs.id}")
    never = await by_token(api, "DELETE", f"{TOKENS}/nothing")
    assert (hidden.status_code, never.status_code) == (404, 404)
    assert (await api.tokens.of("boris"))[0].revoked is None


async def test_nobody_has_tokens_without_end(api: Api) -> None:
    person = await logged_in(api)
    for _ in range(MOST_TOKENS):
        await api.token(OLGA)
    assert (await person.send("POST", TOKENS, {})).status_code == 409


async def test_a_closed_site_lets_people_log_in_for_a_token() -> None:
    async with open_api(login_to_view=True) as api:
        await with_password(api, OLGA)
        made = await api.visitor.post(TOKENS, json={}, headers=basic("olga", PASSWORD))
        assert made.status_code == 201
        assert (await api.visitor.get(TOKENS)).status_code == 401


async def test_a_blocked_user_makes_no_token(api: Api) -> None:
    user = await api.site.users.by_name("olga")
    assert user is not None
    await api.site.users.save(replace(user, blocked=True))
    refused = await api.visitor.post(TOKENS, json={}, headers=basic("olga", PASSWORD))
    assert refused.status_code == 401
