"""What people are told: from the commit that causes it to a mail server and a webhook."""

import hashlib
import hmac
import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from rookery.boundary.offload import Threads
from rookery.db.pool import Queries
from rookery.db.target import Target
from rookery.farm.store import FleetStore
from rookery.model.events import Action, Event, about_run
from rookery.model.run import Run
from rookery.notify.link_mail import LinkMailRows, LinkMails
from rookery.notify.mail import MailServer
from rookery.notify.outbox import (
    ChannelForm,
    Channels,
    DeliveryState,
    LoggedDelivery,
    NotificationChannel,
    Outbox,
    Subscriptions,
)
from rookery.notify.sending import CHANNELS_AT_ONCE, Sender
from rookery.notify.webhooks import Webhooks
from rookery.notify.wording import describe_notification
from rookery.people.links import LinkPurpose, LinkSigner
from rookery.people.users import Users
from rookery.rules.answers import Changes
from rookery.rules.notifications import NotificationKind
from rookery.sources.git import resolve_host
from tests.database import pool_on
from tests.fakes import HandClock, RecordedLog
from tests.makers import make_plan, make_run
from tests.people import BORIS, OLGA
from tests.receivers import Listener, MailBox, open_listener, open_mail_box
from tests.storage.farm.stores import finished, kept, opened

pytestmark = pytest.mark.anyio

ENDS = frozenset({NotificationKind.FINISHED, NotificationKind.FAILED})
ALL = frozenset(NotificationKind)
OVER = finished("a")
OWNER = replace(OLGA, name=OVER.plan.owner, email="o@example.org", verified_email="o@example.org")
SERVER = "https://tests.example.org"


BREAKING = "https://breaking.example.org/"


def resolve_or_break(host: str) -> tuple[str, ...]:
    """The addresses of a host; one of them fails in a way that no code foresees."""
    if host in BREAKING:
        raise RuntimeError(host)
    return resolve_host(host)


class HiddenEngines:
    """Who may not see which engines."""

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()

    def hidden(self, _viewer: str | None) -> frozenset[str]:
        return self.names


@dataclass(frozen=True, slots=True)
class Post:
    """Everything between a commit and its receivers."""

    store: FleetStore
    users: Users
    channels: Channels
    subscriptions: Subscriptions
    outbox: Outbox
    sender: Sender
    link_mails: LinkMails
    clock: HandClock
    hidden: HiddenEngines
    mail: MailBox
    hook: Listener

    async def commit(self, run: Run = OVER, *events: Event) -> None:
        told = events or (about_run(Action.FINISHED_RUN, run, run.plan.owner, self.clock.now()),)
        await kept(self.store, Changes(runs=(run,), events=told))

    async def add_channel(
        self,
        form: ChannelForm = ChannelForm.JSON,
        kinds: frozenset[NotificationKind] = ENDS,
        user: str = OWNER.name,
        address: str = "",
    ) -> None:
        now = self.clock.now()
        where = address or ("" if form is ChannelForm.MAIL else self.hook.address)
        await self.channels.add(
            NotificationChannel(0, user, form, where, "key", kinds, True, now, 0, now)
        )

    async def log(self, user: str = "") -> tuple[LoggedDelivery, ...]:
        return await self.outbox.page(user, 0, 50)

    async def states(self) -> list[str]:
        return [each.state.value for each in await self.log()]


@pytest.fixture(scope="module")
def mail_box() -> Iterator[MailBox]:
    with open_mail_box() as box:
        yield box


@pytest.fixture(scope="module")
def listener() -> Iterator[Listener]:
    with open_listener() as hook:
        yield hook


@pytest.fixture
def inside(request: pytest.FixtureRequest) -> str:
    """The host inside this network that webhooks may call."""
    return str(getattr(request, "param", "127.0.0.1"))


@pytest.fixture
async def post(
    database: Target, queries: Queries, mail_box: MailBox, listener: Listener, inside: str
) -> AsyncIterator[Post]:
    clock, log, hidden = HandClock(), RecordedLog(), HiddenEngines()
    threads, links = Threads(), LinkSigner(lambda: b"key", clock)
    mail_box.letters, mail_box.refuses, mail_box.unknown = [], False, frozenset()
    listener.calls, listener.status = [], 200
    async with opened(database, queries) as store, pool_on(database) as pool:
        users, outbox = Users(pool, queries), Outbox(pool, queries)
        server = MailServer("127.0.0.1", mail_box.port, "none", sender="Rookery <r@example.org>")
        rows = LinkMailRows(pool, queries)
        letters = LinkMails(server, links, SERVER, rows, users, threads, clock, log)
        sender = Sender(
            outbox,
            users,
            letters,
            Webhooks(SERVER, frozenset({inside}), clock, resolve_or_break),
            hidden,  # type: ignore[arg-type]  # all that is asked of privacy here
            lambda: True,
        )
        for user in (OWNER, BORIS):
            await users.add(user)
        channels, subscriptions = Channels(pool, queries), Subscriptions(pool, queries)
        yield Post(
            store,
            users,
            channels,
            subscriptions,
            outbox,
            sender,
            letters,
            clock,
            hidden,
            mail_box,
            listener,
        )


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


async def test_a_test_whose_info_looks_encoded_is_told_by_mail(post: Post) -> None:
    await post.users.save(replace(BORIS, verified_email=BORIS.email))
    await post.add_channel(ChannelForm.MAIL, kinds=ALL, user=BORIS.name)
    run = make_run("e", make_plan(info="ß =?utf-8?q?=E9?="), approved=False)
    await post.commit(run, about_run(Action.NEW_RUN, run, run.plan.owner, post.clock.now()))
    await post.sender.send_due()
    (letter,) = post.mail.letters
    assert "ß = ?utf-8?q?=E9?=" in letter["Subject"]
    assert "ß =?utf-8?q?=E9?=" in letter.get_content()


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
