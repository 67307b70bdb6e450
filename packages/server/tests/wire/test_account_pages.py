"""One's own account by pages: password, address, repositories and tokens."""

import re

import httpx
import pytest

from rookery.server.identity.users import Scope
from tests.twins.sites import PASSWORD, OpenSite, open_site
from tests.wire.test_login import log_in, signed_in, token_in

pytestmark = pytest.mark.anyio

BETTER = "walnut orbit pickle tram"


async def send(site: OpenSite, page: str, path: str, **fields: object) -> httpx.Response:
    """Sends a form of a page, with the token that it carries."""
    token = token_in(await site.browser.get(page))
    return await site.browser.post(path, data={"csrf_token": token, **fields})


async def test_a_stranger_is_asked_to_log_in() -> None:
    async with open_site() as site:
        for page in ("/profile", "/tokens"):
            answer = await site.browser.get(page)
            assert answer.headers["location"] == f"/login?next={page}"


async def test_a_new_password_counts_and_this_session_goes_on() -> None:
    async with open_site() as site:
        await signed_in(site)
        fields = {"present_password_password": PASSWORD, "password": BETTER, "password2": BETTER}
        answer = await send(site, "/profile", "/profile/password", **fields)
        assert answer.headers["location"] == "/profile#password"
        assert "Your password is changed." in (await site.browser.get("/profile")).text
        assert (await log_in(site.visitor(), password=BETTER)).status_code == 302


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"present_password_password": "wrong"}, "present_password_password"),
        ({"password": "short", "password2": "short"}, "password"),
        ({"password2": "another one"}, "password2"),
    ],
)
async def test_what_is_wrong_with_a_password_stands_beside_its_field(
    fields: dict[str, str], field: str
) -> None:
    async with open_site() as site:
        await signed_in(site)
        right = {"present_password_password": PASSWORD, "password": BETTER, "password2": BETTER}
        answer = await send(site, "/profile", "/profile/password", **(right | fields))
        assert answer.status_code == 400
        assert f'id="{field}-error"' in answer.text
        assert BETTER not in answer.text


async def test_a_refused_address_is_not_lost() -> None:
    async with open_site() as site:
        await signed_in(site)
        fields = {"email": "ada at home", "present_password_email": PASSWORD}
        answer = await send(site, "/profile", "/profile/email", **fields)
        assert answer.status_code == 400
        assert 'value="ada at home"' in answer.text
        fields["email"] = "ada@new.example.org"
        assert (await send(site, "/profile", "/profile/email", **fields)).status_code == 302
        ada = await site.parts.users.by_name("ada")
        assert ada is not None
        assert ada.email == "ada@new.example.org"


async def test_repositories_are_stored_and_forgotten_by_engine() -> None:
    async with open_site() as site:
        await signed_in(site)
        name, fork = "repositories.Stockfish", "https://github.com/ada/fork"
        refused = await send(site, "/profile", "/profile/repositories", **{name: "nowhere"})
        assert refused.status_code == 400
        assert f'id="{name}-error"' in refused.text
        for address, stored in ((fork, {"Stockfish": fork}), ("", {})):
            await send(site, "/profile", "/profile/repositories", **{name: address})
            ada = await site.parts.users.by_name("ada")
            assert ada is not None
            assert ada.repositories == stored


async def test_a_token_is_shown_once_and_a_reload_makes_no_second() -> None:
    async with open_site() as site:
        await signed_in(site)
        fields = {"scope": ["read", "submit"], "days": "30", "note": "for CI"}
        made = await send(site, "/tokens", "/tokens", **fields)
        assert made.status_code == 302
        shown = await site.browser.get(made.headers["location"])
        secret = re.search(r"rk_[a-z0-9]+", shown.text)
        assert secret is not None
        assert shown.headers["cache-control"] == "no-store"
        assert (await site.parts.bearers.find_bearer(secret[0])).scopes == {
            Scope.READ,
            Scope.SUBMIT,
        }
        again = await site.browser.get(made.headers["location"])
        assert secret[0] not in again.text
        assert "was already shown" in again.text
        assert len(await site.parts.accounts.list_tokens("ada")) == 1


async def test_a_token_is_revoked_by_a_button() -> None:
    async with open_site() as site:
        await signed_in(site)
        made = await site.parts.accounts.create_token("ada", frozenset({Scope.READ}), note="old")
        await send(site, "/tokens", f"/tokens/{made.token.id}/revoke")
        page = (await site.browser.get("/tokens")).text
        assert "The token old is revoked." in page
        assert "1 revoked or expired" in page


async def test_a_token_without_a_purpose_or_above_its_owner_is_refused() -> None:
    async with open_site() as site:
        await signed_in(site)
        for scopes in ([], ["admin"], ["worker", "read"], ["nonsense"]):
            fields = {"scope": scopes, "days": "30", "note": "kept text"}
            refused = await send(site, "/tokens", "/tokens", **fields)
            assert refused.status_code == 400
            assert 'value="kept text"' in refused.text
        assert await site.parts.accounts.list_tokens("ada") == ()
