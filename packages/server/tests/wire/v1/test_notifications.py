"""Following runs, webhooks and what was told, by the JSON API."""

from collections.abc import AsyncIterator

import pytest

from rookery.core.model.notifications import Notification, NotificationKind
from rookery.server.notify.outbox import ChannelForm, DeliveryState, LoggedDelivery
from tests.makers import NOW
from tests.people import BORIS, SVEN
from tests.twins.notify import MemoryOutbox
from tests.wire.apis import Api, Json, open_api

pytestmark = pytest.mark.anyio

CHANNELS = "/api/v1/notifications/channels"


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    async with open_api(webhook_hosts=("127.0.0.1",)) as opened:
        yield opened


async def test_a_run_is_followed_and_no_more(api: Api) -> None:
    run_id = await api.submitted()
    for word, following in (("follow", True), ("unfollow", False)):
        answer = await api.post(f"/api/v1/runs/{run_id}/{word}", SVEN)
        assert answer.json() == {"run": run_id, "following": following}
        assert await api.site.subscriptions.follows(run_id, "sven") is following


async def test_a_webhook_is_made_listed_without_its_secret_and_removed(api: Api) -> None:
    wish: Json = {"address": "https://127.0.0.1/secret/path", "kinds": ["run_failed"]}
    made = await api.post(CHANNELS, SVEN, wish)
    assert made.status_code == 201
    number = made.json()["channel"]["id"]
    listed = await api.get(CHANNELS, SVEN)
    assert [(each["id"], each["host"]) for each in listed.json()["channels"]] == [
        (number, "127.0.0.1")
    ]
    assert made.json()["secret"] not in listed.text
    assert "secret/path" not in listed.text
    headers = await api.headers(BORIS)
    assert (await api.visitor.delete(f"{CHANNELS}/{number}", headers=headers)).status_code == 404
    left = await api.visitor.delete(f"{CHANNELS}/{number}", headers=await api.headers(SVEN))
    assert left.json() == {"channels": []}


@pytest.mark.parametrize(
    "wish",
    [
        {"address": "https://10.0.0.1/"},
        {"address": "https://127.0.0.1/", "kinds": ["approval_needed"]},
        {"address": "https://127.0.0.1/", "form": "mail"},
    ],
)
async def test_a_webhook_that_may_not_be_is_refused(api: Api, wish: dict[str, object]) -> None:
    assert (await api.post(CHANNELS, SVEN, wish)).status_code == 400


async def test_one_reads_what_one_was_told_oneself(api: Api) -> None:
    assert isinstance(api.site.outbox, MemoryOutbox)
    told = Notification(at=NOW, kind=NotificationKind.FINISHED, run="0" * 24, title="a against b")
    for user in ("sven", "boris"):
        state = DeliveryState.SENT
        line = (told, frozenset[str](), ChannelForm.JSON, "", user, state, 1, "", NOW, NOW)
        api.site.outbox.log.append(LoggedDelivery(1, *line))
    (entry,) = (await api.get("/api/v1/notifications", SVEN)).json()["told"]
    assert (entry["kind"], entry["run"], entry["state"]) == ("run_finished", "0" * 24, "sent")
