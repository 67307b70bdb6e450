"""Links in mail and notifications by pages: confirmed, reset, unsubscribed, followed."""

import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import httpx
import pytest

from rookery.core.model.notifications import NotificationKind
from rookery.server.identity.links import LinkPurpose
from rookery.server.notify.outbox import ChannelForm
from tests.people import BORIS, OLGA, SVEN
from tests.receivers import Listener, MailBox, open_listener, open_mail_box
from tests.twins.sites import PASSWORD
from tests.wire.apis import Api, open_api
from tests.wire.secrets.plants import with_password
from tests.wire.test_login import log_in
from tests.wire.test_user_pages import browser_of, send

pytestmark = pytest.mark.anyio

BETTER = "walnut orbit pickle tram"


@pytest.fixture(scope="module")
def mail_box() -> Iterator[MailBox]:
    with open_mail_box() as box:
        yield box


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with open_listener() as hook:
        yield hook


@pytest.fixture
async def api(mail_box: MailBox) -> AsyncIterator[Api]:
    mail_box.letters = []
    async with open_api(
        smtp_host="127.0.0.1",
        smtp_port=mail_box.port,
        smtp_tls="none",
        mail_from="r@example.org",
        webhook_hosts=("127.0.0.1",),
        base_url="http://localhost",
    ) as opened:
        confirmed = replace(SVEN, verified_email=SVEN.email)
        await with_password(opened, confirmed)
        await with_password(opened, BORIS)
        yield opened


async def link_in_mail(api: Api, box: MailBox) -> str:
    """The path of the one link in the one letter that waits."""
    await api.site.link_mails.flush()
    (letter,) = box.letters
    found = re.search(r"http://localhost(/\S+)", letter.get_content())
    assert found is not None
    return found[1]


async def post_form(browser: httpx.AsyncClient, page: str, **fields: str) -> httpx.Response:
    """Sends the form at an address, with what it hides in it."""
    shown = await browser.get(page)
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', shown.text)
    return await browser.post(page.partition("?")[0], data={**dict(hidden), **fields})


@pytest.mark.parametrize("who", ["sven", "SVEN@example.org"])
async def test_a_link_by_mail_leads_to_a_new_password_once(
    api: Api, mail_box: MailBox, who: str
) -> None:
    session = await browser_of(api, SVEN)
    asked = await post_form(api.visitor, "/login/reset", who=who)
    assert asked.headers["location"] == "/login"
    link = await link_in_mail(api, mail_box)
    weak = await post_form(api.visitor, link, password="short", password2="short")
    assert weak.status_code == 400
    changed = await post_form(api.visitor, link, password=BETTER, password2=BETTER)
    assert changed.headers["location"] == "/login?next=/tokens"
    assert (await api.visitor.get(link)).status_code == 404
    assert (await session.get("/profile")).status_code == 303
    answer = await log_in(api.visitor, username="sven", password=BETTER)
    assert answer.status_code == 302


@pytest.mark.parametrize(
    ("ticked", "status", "told"),
    [({}, 200, "tokens stay valid"), ({"revoke_tokens": "1"}, 401, "all tokens are revoked")],
)
async def test_a_new_password_by_mail_says_what_becomes_of_tokens(
    api: Api, mail_box: MailBox, ticked: dict[str, str], status: int, told: str
) -> None:
    headers = {"authorization": f"Bearer {await api.token(SVEN)}"}
    await post_form(api.visitor, "/login/reset", who="sven")
    link = await link_in_mail(api, mail_box)
    assert "Also revoke all my tokens" in (await api.visitor.get(link)).text
    await post_form(api.visitor, link, password=BETTER, password2=BETTER, **ticked)
    assert told in (await api.visitor.get("/login")).text
    assert (await api.visitor.get("/api/v1/me", headers=headers)).status_code == status


async def test_nobody_learns_from_a_reset_who_has_an_account(api: Api, mail_box: MailBox) -> None:
    answers = []
    for who in ("sven", "nobody", "olga", "x@y.zz"):
        await post_form(api.visitor, "/login/reset", who=who)
        page = (await api.visitor.get("/login")).text
        answers.append(re.sub(r'value="[0-9a-f]*"', "", page))
    assert len(set(answers)) == 1
    await api.site.link_mails.flush()
    assert len(mail_box.letters) == 1


async def test_resets_are_throttled(api: Api) -> None:
    answers = [await post_form(api.visitor, "/login/reset", who=f"u{n}") for n in range(11)]
    assert [answer.status_code for answer in answers[-2:]] == [302, 429]


async def test_a_reset_link_is_valid_for_an_hour(api: Api, mail_box: MailBox) -> None:
    await post_form(api.visitor, "/login/reset", who="sven")
    link = await link_in_mail(api, mail_box)
    api.clock.move(seconds=3601)
    assert (await api.visitor.get(link)).status_code == 404
    forged = link[:-1] + ("A" if link[-1] != "A" else "B")
    assert (await api.visitor.get(forged)).status_code == 404


async def test_without_mail_people_are_told_whom_to_ask() -> None:
    async with open_api() as api:
        assert "Ask an approver" in (await api.visitor.get("/login/reset")).text


async def test_a_new_address_is_confirmed_by_a_link(api: Api, mail_box: MailBox) -> None:
    sven = await browser_of(api, SVEN)
    fields = {"email": "new@example.org", "present_password_email": PASSWORD}
    await send(sven, "/profile/email", **fields)
    assert "not confirmed" in (await sven.get("/profile")).text
    link = await link_in_mail(api, mail_box)
    assert mail_box.letters[0]["To"] == "new@example.org"
    await post_form(api.visitor, link)
    stored = await api.site.users.by_name("sven")
    assert stored is not None
    assert stored.is_verified


async def test_who_signs_up_is_asked_to_confirm_the_address(api: Api, mail_box: MailBox) -> None:
    form = {"username": "nova", "email": "nova@example.org", "password": BETTER}
    await post_form(api.visitor, "/signup", password2=BETTER, **form)
    await post_form(api.visitor, await link_in_mail(api, mail_box))
    stored = await api.site.users.by_name("nova")
    assert stored is not None
    assert stored.pending
    assert stored.is_verified


async def test_mail_is_chosen_by_kind_and_ended_by_its_link_at_one_click(api: Api) -> None:
    sven = await browser_of(api, SVEN)
    await send(sven, "/profile/notifications/mail", kind="run_finished")
    (channel,) = await api.site.channels.of("sven")
    assert channel.form is ChannelForm.MAIL
    assert channel.kinds == {NotificationKind.FINISHED}
    stored = await api.site.users.by_name("sven")
    assert stored is not None
    token = api.site.links.make(LinkPurpose.UNSUBSCRIBE, stored)
    clicked = {"List-Unsubscribe": "One-Click"}
    ended = await api.visitor.post(f"/api/v1/unsubscribe?token={token}", data=clicked)
    assert ended.json() == {"unsubscribed": True}
    (channel,) = await api.site.channels.of("sven")
    assert not channel.active
    assert (await api.visitor.post("/api/v1/unsubscribe?token=forged")).status_code == 404


async def test_a_webhook_is_added_tried_and_removed(api: Api, listener: Listener) -> None:
    sven = await browser_of(api, SVEN)
    place = "/profile/notifications"
    fields = {"form": "json", "kind": "run_finished", "address": listener.address}
    made = await send(sven, f"{place}/webhooks", **fields)
    shown = (await sven.get(made.headers["location"])).text
    assert "Webhook secret." in shown.replace("&#39;", "'")
    (channel,) = await api.site.channels.of("sven")
    assert channel.secret in shown
    assert channel.secret not in (await sven.get(made.headers["location"])).text
    await send(sven, f"{place}/change", channel=str(channel.id), do="try")
    assert "The webhook accepted the trial." in (await sven.get(place)).text
    assert listener.calls[-1].path == "/hook"
    boris = await browser_of(api, BORIS)
    await send(boris, f"{place}/change", channel=str(channel.id), do="remove")
    assert await api.site.channels.of("sven") == (channel,)
    await send(sven, f"{place}/change", channel=str(channel.id), do="remove")
    assert await api.site.channels.of("sven") == ()


@pytest.mark.parametrize(
    "address",
    ["http://example.org/", "https://localhost/", "https://10.0.0.1/", "file:///etc/passwd", "x"],
)
async def test_a_webhook_into_this_network_is_refused_beside_its_field(
    api: Api, address: str
) -> None:
    sven = await browser_of(api, SVEN)
    fields = {"form": "slack", "kind": "run_finished", "address": address}
    refused = await send(sven, "/profile/notifications/webhooks", **fields)
    assert refused.status_code == 400
    assert 'id="address-error"' in refused.text
    assert f'value="{address}"' in refused.text
    assert await api.site.channels.of("sven") == ()


async def test_users_are_not_told_what_is_for_approvers(api: Api) -> None:
    sven = await browser_of(api, SVEN)
    await send(sven, "/profile/notifications/mail", kind="account_waiting")
    (channel,) = await api.site.channels.of("sven")
    assert channel.kinds == frozenset()
    assert "an account waits for approval" not in (await sven.get("/profile/notifications")).text


async def test_a_run_is_followed_and_left_by_a_button(api: Api) -> None:
    run = await api.submitted(OLGA)
    sven = await browser_of(api, SVEN)
    answer = await send(sven, f"/runs/{run}/follow")
    assert answer.headers["location"] == f"/runs/{run}"
    assert await api.site.subscriptions.follows(run, "sven")
    await send(sven, f"/runs/{run}/unfollow")
    assert not await api.site.subscriptions.follows(run, "sven")
