"""What people are told: from the commit that causes it to a mail server and a webhook."""

import hashlib
import hmac
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from rookery.core.model.events import Action, about_run
from rookery.server.farm.rules.answers import Changes
from rookery.server.notify.outbox import ChannelForm
from rookery.server.notify.wording import describe_notification
from tests.makers import make_plan, make_run
from tests.people import BORIS, OLGA
from tests.storage.farm.stores import finished, kept
from tests.storage.posts import ALL, ENDS, OVER, OWNER, SERVER, Post

pytestmark = pytest.mark.anyio


async def test_nothing_is_written_where_nobody_wants_to_know(post: Post) -> None:
    await post.commit()
    await post.add_channel()
    await post.sender.send_due()
    assert await post.log() == ()


async def test_an_owner_is_told_by_a_signed_webhook(post: Post) -> None:
    await post.add_channel()
    await post.commit()
    await post.sender.send_due()
    (call,) = post.hook.calls
    (told,) = json.loads(call.body)["notifications"]
    assert told["url"] == f"{SERVER}/runs/{OVER.id}"
    assert told["kind"] == "run_finished"
    time = call.headers["x-rookery-timestamp"]
    signed = hmac.new(b"key", f"{time}.".encode() + call.body, hashlib.sha256).hexdigest()
    assert call.headers["x-rookery-signature"] == f"sha256={signed}"
    assert await post.states() == ["sent"]


@pytest.mark.parametrize(
    ("form", "field"), [(ChannelForm.DISCORD, "content"), (ChannelForm.SLACK, "text")]
)
async def test_discord_and_slack_get_what_they_read(
    post: Post, form: ChannelForm, field: str
) -> None:
    await post.add_channel(form)
    await post.commit()
    await post.sender.send_due()
    body = json.loads(post.hook.calls[0].body)
    assert f"/runs/{OVER.id}" in body[field]


async def test_mail_goes_to_a_confirmed_address_with_a_way_to_end_it(post: Post) -> None:
    await post.add_channel(ChannelForm.MAIL)
    await post.commit()
    await post.sender.send_due()
    (letter,) = post.mail.letters
    assert letter["To"] == "o@example.org"
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert f"<{SERVER}/api/v1/unsubscribe?token=" in letter["List-Unsubscribe"]
    assert f"{SERVER}/runs/{OVER.id}" in letter.get_content()


async def test_an_address_that_is_not_confirmed_gets_nothing(post: Post) -> None:
    await post.users.save(replace(OWNER, verified_email="another@example.org"))
    await post.add_channel(ChannelForm.MAIL)
    await post.commit()
    await post.sender.send_due()
    assert post.mail.letters == []
    assert await post.states() == ["dropped"]


async def test_what_happens_in_a_while_goes_in_one_letter(post: Post) -> None:
    await post.add_channel(ChannelForm.MAIL)
    await post.commit()
    await post.sender.send_due()
    for name in ("b", "c", "d"):
        await post.commit(finished(name))
    await post.sender.send_due()
    assert len(post.mail.letters) == 1
    post.clock.move(seconds=301)
    await post.sender.send_due()
    assert [letter["Subject"][:16] for letter in post.mail.letters[1:]] == ["3 notifications:"]


async def test_followers_are_told_and_owners_who_said_no_are_not(post: Post) -> None:
    for user in (OWNER.name, BORIS.name):
        await post.add_channel(user=user)
    await kept(post.store, Changes(runs=(OVER,)))
    assert await post.subscriptions.follows(OVER.id, OWNER.name)
    assert not await post.subscriptions.follows(OVER.id, BORIS.name)
    await post.subscriptions.put(OVER.id, BORIS.name, following=True)
    await post.subscriptions.put(OVER.id, OWNER.name, following=False)
    await post.commit()
    await post.sender.send_due()
    assert [each.user_name for each in await post.log()] == [BORIS.name]


async def test_what_a_user_may_not_see_is_dropped(post: Post) -> None:
    await post.add_channel()
    await post.commit()
    post.hidden.names = frozenset(side.engine for side in OVER.plan.sides)
    await post.sender.send_due()
    assert post.hook.calls == []
    assert await post.states() == ["dropped"]


async def test_approvers_are_told_what_waits_for_them(post: Post) -> None:
    await post.add_channel(kinds=ALL, user=BORIS.name)
    await post.add_channel(kinds=ALL)
    run = replace(make_run("e"), status=replace(OVER.status, finished=False, approver=""))
    await post.commit(run, about_run(Action.NEW_RUN, run, run.plan.owner, post.clock.now()))
    await post.users.add(replace(OLGA, name="newcomer", email="n@example.org", pending=True))
    await post.sender.send_due()
    (call,) = post.hook.calls
    kinds = [each["kind"] for each in json.loads(call.body)["notifications"]]
    assert kinds == ["approval_needed", "account_waiting"]


@pytest.mark.parametrize(
    "change", [{"groups": frozenset[str]()}, {"blocked": True}], ids=["demoted", "blocked"]
)
async def test_who_is_an_approver_no_more_is_not_told_what_waited_for_them(
    post: Post, change: dict[str, Any]
) -> None:
    await post.add_channel(kinds=ALL, user=BORIS.name)
    newcomer = replace(OLGA, name="newcomer", email="n@example.org", pending=True)
    await post.users.add(replace(newcomer, created=post.clock.now()))
    post.hook.status = 500
    await post.sender.send_due()
    post.hook.status, post.hook.calls = 200, []
    await post.users.save(replace(BORIS, **change))
    post.clock.move(seconds=31)
    await post.sender.send_due()
    assert post.hook.calls == []
    assert await post.states() == ["dropped"]


async def test_the_log_names_who_submitted_what_waits(post: Post) -> None:
    await post.add_channel(kinds=ALL, user=BORIS.name)
    run = replace(make_run("e"), status=replace(OVER.status, finished=False, approver=""))
    await post.commit(run, about_run(Action.NEW_RUN, run, OWNER.name, post.clock.now()))
    await post.sender.send_due()
    (line,) = await post.log(BORIS.name)
    waits = f"{line.told.title} by {OWNER.name} waits for approval"
    assert describe_notification(line.told).startswith(waits)


async def test_who_stops_a_run_is_not_told_of_it(post: Post) -> None:
    await post.add_channel()
    await post.commit(OVER, about_run(Action.STOP_RUN, OVER, OWNER.name, post.clock.now()))
    await post.sender.send_due()
    assert post.hook.calls == []


async def test_old_notifications_are_forgotten(post: Post) -> None:
    await post.add_channel()
    await post.commit()
    await post.sender.send_due()
    post.clock.move(seconds=timedelta(days=31).total_seconds())
    await post.sender.forget_old()
    assert await post.log() == ()


async def test_what_waits_when_somebody_ends_their_mail_is_not_sent_any_more(post: Post) -> None:
    await post.add_channel(ChannelForm.MAIL)
    await post.commit()
    await post.sender.send_due()
    await post.commit(finished("b"))
    await post.sender.send_due()
    await post.channels.silence_mail(OWNER.name)
    post.clock.move(seconds=301)
    await post.sender.send_due()
    assert len(post.mail.letters) == 1
    assert await post.states() == ["dropped", "sent"]


async def test_mail_is_one_channel_and_ends_at_a_word(post: Post) -> None:
    await post.add_channel(ChannelForm.MAIL)
    await post.add_channel(ChannelForm.MAIL, kinds=ALL)
    (channel,) = await post.channels.of(OWNER.name)
    assert channel.kinds == ALL
    assert not await post.channels.remove(channel.id, BORIS.name)
    assert await post.channels.silence_mail(OWNER.name)
    (silent,) = await post.channels.of(OWNER.name)
    assert not silent.active
    assert await post.channels.change(replace(silent, active=True, kinds=ENDS))


async def test_a_test_whose_info_looks_encoded_is_told_by_mail(post: Post) -> None:
    await post.users.save(replace(BORIS, verified_email=BORIS.email))
    await post.add_channel(ChannelForm.MAIL, kinds=ALL, user=BORIS.name)
    run = make_run("e", make_plan(info="ß =?utf-8?q?=E9?="), approved=False)
    await post.commit(run, about_run(Action.NEW_RUN, run, run.plan.owner, post.clock.now()))
    await post.sender.send_due()
    (letter,) = post.mail.letters
    assert "ß = ?utf-8?q?=E9?=" in letter["Subject"]
    assert "ß =?utf-8?q?=E9?=" in letter.get_content()
