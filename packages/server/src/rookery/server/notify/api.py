"""Notifications outside of the pages: following runs, channels, and the log of messages."""

from urllib.parse import urlsplit

import msgspec
from msgspec.structs import asdict

from rookery.core.clock import Clock
from rookery.core.model.bounds import RunId
from rookery.core.model.notifications import NotificationKind
from rookery.core.protocol import people, v1
from rookery.core.protocol.codec import BadField
from rookery.server.engines.privacy import Privacy
from rookery.server.engines.visible_runs import VisibleRuns
from rookery.server.http.endpoint import LOOP, THREAD, UNSEEN, Endpoints
from rookery.server.http.faults import NotFound
from rookery.server.http.query_values import Paging
from rookery.server.identity.bearers import Caller
from rookery.server.identity.links import LinkPurpose
from rookery.server.identity.users import Scope
from rookery.server.notify.channels import (
    WEBHOOKS,
    LinkedUsers,
    WebhookChecks,
    list_open_kinds,
    make_channel,
)
from rookery.server.notify.outbox import (
    ChannelForm,
    Channels,
    LoggedDelivery,
    NotificationChannel,
    Outbox,
    Subscriptions,
)
from rookery.server.notify.wording import describe_notification

FOLLOWERS = (Scope.SUBMIT, Scope.APPROVE)

api = Endpoints("/api/v1")


class Unsubscribed(msgspec.Struct, frozen=True, kw_only=True):
    """No more mail is sent."""

    unsubscribed: bool = True


@api("POST /unsubscribe", LOOP, "awaits one write")
async def unsubscribe_at_once(
    users: LinkedUsers, channels: Channels, token: str = ""
) -> Unsubscribed:
    """Unsubscribe from mail, by the link in a mail's header (RFC 8058).

    The token of the link is enough; no login is needed."""
    user = await users.find(LinkPurpose.UNSUBSCRIBE, token)
    await channels.silence_mail(user.name)
    return Unsubscribed()


# Following a run, for users who may see it.


@api("POST /runs/{run_id}/follow", LOOP, "awaits one write", scope=FOLLOWERS)
async def follow_run(
    visible: VisibleRuns, subscriptions: Subscriptions, caller: Caller, run_id: RunId
) -> people.FollowedRun:
    """Follow a run, and be told when it ends."""
    run = await visible.find(run_id, caller.user.name)
    await subscriptions.put(run.id, caller.user.name, following=True)
    return people.FollowedRun(run=run.id, following=True)


@api("POST /runs/{run_id}/unfollow", LOOP, "awaits one write", scope=FOLLOWERS)
async def unfollow_run(
    visible: VisibleRuns, subscriptions: Subscriptions, caller: Caller, run_id: RunId
) -> people.FollowedRun:
    """Stop following a run."""
    run = await visible.find(run_id, caller.user.name)
    await subscriptions.put(run.id, caller.user.name, following=False)
    return people.FollowedRun(run=run.id, following=False)


# Channels. Mail is chosen in the profile, since its address has to be confirmed there.


@api("GET /notifications/channels", LOOP, "awaits one query", scope=Scope.READ, headers=UNSEEN)
async def list_channels(channels: Channels, caller: Caller) -> people.ChannelList:
    """Your notification channels."""
    found = await channels.of(caller.user.name)
    return people.ChannelList(channels=tuple(map(_show_channel, found)))


@api(
    "POST /notifications/channels",
    THREAD,
    "the address is looked up in an io thread",
    scope=Scope.SUBMIT,
    status=201,
    headers=UNSEEN,
)
async def add_channel(
    checks: WebhookChecks, clock: Clock, caller: Caller, wish: people.NewWebhook
) -> people.MadeWebhook:
    """Add a webhook; its secret is shown only once."""
    user, address = caller.user, wish.address.strip()
    kinds = frozenset(map(NotificationKind, wish.kinds)) & list_open_kinds(user)
    errors = await checks.find_mistakes(user, wish.form, address, kinds)
    for field, text in errors.items():
        raise BadField(field="kinds" if field == "kind" else field, text=text)
    made = make_channel(user, ChannelForm(wish.form), address, kinds, clock.now())
    number = await checks.channels.add(made)
    entry = people.ChannelEntry(**{**asdict(_show_channel(made)), "id": number})
    return people.MadeWebhook(secret=made.secret, channel=entry)


@api(
    "DELETE /notifications/channels/{channel_id:int}",
    LOOP,
    "awaits one write",
    scope=Scope.SUBMIT,
    headers=UNSEEN,
)
async def remove_channel(
    channels: Channels, caller: Caller, channel_id: v1.Sequence
) -> people.ChannelList:
    """Remove a webhook.

    The answer has the remaining channels."""
    name = caller.user.name
    own = await channels.of(name)
    if not any(each.id == channel_id and each.form in WEBHOOKS for each in own):
        raise NotFound("You have no such webhook.")
    await channels.remove(channel_id, name)
    left = (_show_channel(each) for each in own if each.id != channel_id)
    return people.ChannelList(channels=tuple(left))


def _show_channel(channel: NotificationChannel) -> people.ChannelEntry:
    return people.ChannelEntry(
        id=channel.id,
        form=channel.form.value,
        host=urlsplit(channel.address).hostname or "",
        kinds=tuple(sorted(channel.kinds)),
        active=channel.active,
        created=channel.created,
        failures=channel.failures,
    )


# The log of messages.


@api("GET /notifications", LOOP, "awaits one query", scope=Scope.READ)
async def list_told(
    outbox: Outbox, privacy: Privacy, caller: Caller, paging: Paging
) -> people.ToldList:
    """Your notifications, and whether they were delivered."""
    name = caller.user.name
    found, more = paging.cut(await outbox.page(name, paging.first, paging.size + 1))
    hidden = privacy.hidden(name)
    told = tuple(_show_told(each) for each in found if not each.engines & hidden)
    return people.ToldList(told=told, page=paging.page, more=more)


def _show_told(logged: LoggedDelivery) -> people.ToldEntry:
    return people.ToldEntry(
        id=logged.id,
        at=logged.told.at,
        kind=logged.told.kind,
        text=describe_notification(logged.told),
        run=logged.told.run,
        user=logged.told.subject,
        form=logged.form.value,
        state=logged.state.value,
        attempts=logged.attempts,
        error=logged.error,
        ended=logged.ended,
    )
