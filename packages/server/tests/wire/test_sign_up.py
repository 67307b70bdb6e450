"""Signing up through the browser's eyes."""

import httpx
import pytest

from tests.wire.apis import open_api
from tests.wire.test_login import log_in, token_in

pytestmark = pytest.mark.anyio

PASSWORD = "walnut orbit pickle tram"
FORM = {
    "username": "ada",
    "email": "ada@example.org",
    "password": PASSWORD,
    "password2": PASSWORD,
}


async def sign_up(browser: httpx.AsyncClient, **fields: str) -> httpx.Response:
    token = token_in(await browser.get("/signup"))
    return await browser.post("/signup", data={"csrf_token": token, **FORM, **fields})


async def test_nobody_signs_up_where_the_settings_say_so() -> None:
    async with open_api(sign_up=False) as api:
        assert (await api.visitor.get("/signup")).status_code == 404
        applied = await api.visitor.post(
            "/api/v1/users", json={"name": "ada", "email": FORM["email"], "password": PASSWORD}
        )
        assert applied.status_code == 403


async def test_a_new_account_waits_for_approval() -> None:
    async with open_api() as api:
        answer = await sign_up(api.visitor)
        assert (answer.status_code, answer.headers["location"]) == (302, "/login")
        assert "once an approver has approved" in (await api.visitor.get("/login")).text
        refused = await log_in(api.visitor, username="ada", password=PASSWORD)
        assert "waits for approval" in refused.text


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("password2", "another one", "The passwords do not match."),
        ("username", "olga", "can&#39;t be used"),
        ("username", "a b", "letters and digits"),
        ("email", "nowhere", "e-mail address"),
    ],
)
async def test_a_refusal_is_told_and_only_the_passwords_are_typed_again(
    field: str, value: str, words: str
) -> None:
    async with open_api() as api:
        answer = await sign_up(api.visitor, **{field: value})
        assert answer.status_code == 400
        assert words in answer.text
        assert PASSWORD not in answer.text
        kept = value if field == "email" else FORM["email"]
        assert f'value="{kept}"' in answer.text


async def test_weak_passwords_are_charged_like_accounts() -> None:
    async with open_api() as api:
        weak = {"password": "password1", "password2": "password1"}
        answers = [await sign_up(api.visitor, **weak) for _ in range(5)]
        assert {answer.status_code for answer in answers} == {400}
        assert "too easy to guess" in answers[-1].text
        assert "Too many attempts" in (await sign_up(api.visitor)).text


async def test_a_name_that_is_mistyped_is_not_charged() -> None:
    async with open_api() as api:
        for _ in range(10):
            assert "letters and digits" in (await sign_up(api.visitor, username="a b")).text


async def test_the_form_needs_its_token() -> None:
    async with open_api() as api:
        assert (await api.visitor.post("/signup", data=FORM)).status_code == 403


async def test_a_closed_site_still_lets_people_sign_up() -> None:
    async with open_api(login_to_view=True) as api:
        assert (await sign_up(api.visitor)).status_code == 302
        posted = await api.visitor.post("/api/v1/users", json={})
        assert posted.status_code == 400
