"""What webhooks are sent, and in which words."""

import json

import pytest
from msgspec.structs import replace

from rookery.core.model.notifications import Notification, NotificationKind, account_waits
from rookery.server.notify.outbox import ChannelForm
from rookery.server.notify.webhooks import (
    DISCORD_CHARACTERS,
    WebhookRefused,
    Webhooks,
    encode_body,
    sign_body,
)
from rookery.server.notify.wording import describe_notification, make_subject, make_text
from rookery.server.sources.git import Resolve
from tests.fakes import HandClock
from tests.makers import NOW

SERVER = "https://tests.example.org"
ENDED = Notification(
    at=NOW, kind=NotificationKind.FINISHED, run="0" * 24, title="<a>\nb", message="passed"
)


def test_a_title_of_a_stranger_stays_one_line() -> None:
    assert describe_notification(ENDED) == "<a> b: passed"
    assert "\n" not in make_subject([ENDED, ENDED])


def test_an_account_leads_to_those_that_wait() -> None:
    text = make_text([account_waits("nova", NOW)], SERVER, "the link")
    assert "The account nova waits for approval" in text
    assert f"{SERVER}/users?state=pending" in text
    assert "Unsubscribe: the link" in text


@pytest.mark.parametrize("number", [1, 200])
def test_discord_gets_no_more_than_it_takes_and_calls_nobody(number: int) -> None:
    sent = json.loads(encode_body(ChannelForm.DISCORD, [ENDED] * number, SERVER))
    assert len(sent["content"]) <= DISCORD_CHARACTERS
    assert sent["allowed_mentions"] == {"parse": []}
    assert ("more" in sent["content"]) == (number > 1)


def test_slack_reads_no_marks_of_a_stranger() -> None:
    assert "&lt;a&gt; b" in json.loads(encode_body(ChannelForm.SLACK, [ENDED], SERVER))["text"]


def test_discord_reads_no_marks_of_a_stranger() -> None:
    told = replace(ENDED, title="[approve](https://evil.example) **x** @y")
    content = json.loads(encode_body(ChannelForm.DISCORD, [told], SERVER))["content"]
    marked = r"\[approve\]\(https://evil.example\) \*\*x\*\* @y: passed"
    assert content == f"{marked}\n<{SERVER}/runs/{told.run}>"


def resolve_nothing(host: str) -> tuple[str, ...]:
    raise OSError(f"{host}: temporary failure in name resolution")


@pytest.mark.parametrize(
    ("address", "resolve", "for_good"),
    [
        ("https://hooks.example.org/a", resolve_nothing, False),
        ("https://hooks.example.org/a", lambda _host: ("10.0.0.1",), True),
        ("http://hooks.example.org/a", resolve_nothing, True),
        ("https://hooks.example.org:99999/a", resolve_nothing, True),
    ],
)
def test_a_host_that_is_not_found_just_now_is_not_refused_for_good(
    address: str, resolve: Resolve, for_good: bool
) -> None:
    webhooks = Webhooks(SERVER, frozenset(), HandClock(), resolve)
    with pytest.raises(WebhookRefused) as refused:
        webhooks.check(address)
    assert refused.value.for_good is for_good


@pytest.mark.parametrize("address", ["hookzz", "ftp://hooks.example.org/a", "//hooks/a"])
def test_what_is_no_https_address_is_told_how_one_begins(address: str) -> None:
    with pytest.raises(WebhookRefused, match="an address must begin with https://"):
        Webhooks(SERVER, frozenset(), HandClock()).check(address)


def test_a_signature_depends_on_secret_time_and_body() -> None:
    signed = {
        tuple(sign_body(*words).values())[1]
        for words in (("a", b"x", 1), ("b", b"x", 1), ("a", b"y", 1), ("a", b"x", 2))
    }
    assert len(signed) == 4
