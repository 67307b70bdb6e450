"""Notifications that cannot be sent, or not now: what is tried again, given up or refused."""

import re
from dataclasses import replace
from datetime import timedelta

import pytest

from rookery.server.identity.links import LinkPurpose
from rookery.server.notify.outbox import ChannelForm, DeliveryState
from rookery.server.notify.sending import CHANNELS_AT_ONCE
from tests.people import OLGA
from tests.storage.posts import BREAKING, OWNER, Post

pytestmark = pytest.mark.anyio


async def test_a_channel_that_fails_is_tried_again_with_growing_pauses(post: Post) -> None:
    await post.add_channel()
    post.hook.status = 500
    await post.commit()
    for seconds, calls in ((0, 1), (29, 1), (2, 2), (100, 2), (25, 3)):
        post.clock.move(seconds=seconds)
        await post.sender.send_due()
        assert len(post.hook.calls) == calls
    (logged,) = await post.log()
    assert (logged.state, logged.error, logged.attempts) == (
        DeliveryState.WAITING,
        "it answers 500",
        3,
    )
    post.hook.status = 204
    post.clock.move(seconds=600)
    await post.sender.send_due()
    assert await post.states() == ["sent"]


async def test_a_mail_server_that_refuses_is_asked_again(post: Post) -> None:
    await post.add_channel(ChannelForm.MAIL)
    post.mail.refuses = True
    await post.commit()
    await post.sender.send_due()
    post.mail.refuses = False
    post.clock.move(seconds=31)
    await post.sender.send_due()
    assert len(post.mail.letters) == 1


async def test_a_recipient_that_there_is_not_is_not_asked_for_again(post: Post) -> None:
    await post.add_channel(ChannelForm.MAIL)
    post.mail.unknown = frozenset({OWNER.email})
    await post.commit()
    await post.sender.send_due()
    assert await post.states() == ["failed"]


async def test_a_letter_waits_for_its_mail_server_and_is_signed_when_it_goes(post: Post) -> None:
    await post.link_mails.post_reset(OWNER)
    post.mail.refuses = True
    await post.sender.send_due()
    post.mail.refuses = False
    await post.users.save(replace(OWNER, email="new@example.org", verified_email="new@example.org"))
    await post.sender.send_due()
    assert post.mail.letters == []
    post.clock.move(seconds=11)
    for _ in range(2):
        await post.sender.send_due()
    (letter,) = post.mail.letters
    assert letter["To"] == "new@example.org"
    found = re.search(r"token=(\S+)", letter.get_content())
    assert found is not None
    user = await post.users.by_name(OWNER.name)
    assert post.link_mails.links.check(LinkPurpose.RESET, found[1], user) == user


async def test_a_mail_server_that_refuses_is_asked_for_one_letter_in_a_round(post: Post) -> None:
    await post.users.add(replace(OLGA, name="aaron", email="aaron@example.org"))
    for name in ("aaron", OWNER.name):
        user = await post.users.by_name(name)
        assert user is not None
        await post.link_mails.post_confirmation(user)
    post.mail.refuses = True
    for refused in (1, 2, 2):
        await post.sender.send_due()
        assert post.mail.refused == refused
    post.mail.refuses = False
    post.clock.move(seconds=11)
    await post.sender.send_due()
    assert len(post.mail.letters) == 2


@pytest.mark.parametrize(("unknown", "hours"), [(True, 0), (False, 2)])
async def test_a_letter_that_nobody_can_use_is_dropped(
    post: Post, unknown: bool, hours: int
) -> None:
    post.mail.unknown = frozenset({OWNER.email} if unknown else ())
    await post.link_mails.post_reset(OWNER)
    post.clock.move(seconds=3600 * hours)
    await post.sender.send_due()
    post.mail.unknown = frozenset()
    post.clock.move(seconds=60)
    await post.sender.send_due()
    assert post.mail.letters == []


async def test_after_three_days_it_is_given_up(post: Post) -> None:
    await post.add_channel()
    post.hook.status = 500
    await post.commit()
    await post.sender.send_due()
    post.clock.move(seconds=timedelta(days=3, hours=1).total_seconds())
    await post.sender.send_due()
    assert await post.states() == ["failed"]


async def test_redirects_are_not_followed(post: Post) -> None:
    await post.add_channel()
    post.hook.status = 302
    await post.commit()
    await post.sender.send_due()
    (logged,) = await post.log()
    assert logged.error == "it answers 302"


@pytest.mark.parametrize("inside", ["elsewhere"], indirect=True)
@pytest.mark.parametrize("address", ["http://127.0.0.1:{}/", "https://localhost:{}/"])
async def test_private_addresses_are_refused_unless_the_operator_allows_them(
    post: Post, address: str
) -> None:
    await post.add_channel(address=address.format(post.hook.port))
    await post.commit()
    await post.sender.send_due()
    assert post.hook.calls == []
    assert await post.states() == ["failed"]


@pytest.mark.parametrize("address", ["x@[.aa", "a@b.com,root.local"])
async def test_a_letter_that_cannot_be_made_holds_up_no_other(post: Post, address: str) -> None:
    await post.users.add(replace(OLGA, name="aaron", email=address))
    for name in ("aaron", OWNER.name):
        user = await post.users.by_name(name)
        assert user is not None
        await post.link_mails.post_confirmation(user)
    for _ in range(2):
        await post.sender.send_due()
    assert [letter["To"] for letter in post.mail.letters] == [OWNER.email]


async def test_channels_that_fail_in_unforeseen_ways_hold_up_no_other(post: Post) -> None:
    for _ in range(CHANNELS_AT_ONCE):
        await post.add_channel(address=BREAKING)
    await post.add_channel()
    await post.commit()
    for _ in range(2):
        await post.sender.send_due()
        post.clock.move(seconds=4)
    assert len(post.hook.calls) == 1
    assert sorted(await post.states()) == ["failed"] * CHANNELS_AT_ONCE + ["sent"]
