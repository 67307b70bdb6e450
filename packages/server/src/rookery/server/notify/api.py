"""Notifications outside of the pages: following runs, channels, and the log of messages."""

from urllib.parse import urlsplit

import msgspec
from msgspec.structs import asdict
from starlette.requests import Request
from starlette.responses import Response

from rookery.core.protocol import people, v1
from rookery.core.protocol.codec import BadField, Reader
from rookery.server.boundary.domains import Domain, runs
from rookery.server.farm.rules.notifications import NotificationKind
from rookery.server.http.answers import site_of
from rookery.server.http.bodies import json_answer, read_body
from rookery.server.http.callers import find_run, require_bearer, translated_errors
from rookery.server.http.faults import NotFound
from rookery.server.http.openapi import Operation, described
from rookery.server.http.queries import read_page
from rookery.server.notify.channels import (
    WEBHOOKS,
    check_webhook,
    find_linked_user,
    list_open_kinds,
    make_channel,
)
from rookery.server.notify.outbox import ChannelForm, LoggedDelivery, NotificationChannel
from rookery.server.notify.wording import describe_notification
from rookery.server.people.bearers import Bearer
from rookery.server.people.links import LinkPurpose
from rookery.server.people.users import Scope
from rookery.server.runs.api import BY_ID, PAGING

NEW_WEBHOOK = Reader(people.NewWebhook)
UNSEEN = {"cache-control": "no-store"}


class Unsubscribed(msgspec.Struct, frozen=True, kw_only=True):
    """No more mail is sent."""

    unsubscribed: bool = True


@described(
    Operation(
        "Unsubscribe from mail, by the link in a mail's header (RFC 8058)",
        {200: Unsubscribed},
        query={"token": str},
    )
)
@runs(Domain.LOOP, "awaits one write")
async def unsubscribe_at_once(request: Request) -> Response:
    """Unsubscribe by the token of a link in a mail; no login is needed."""
    token = request.query_params.get("token", "")
    user = await find_linked_user(request, LinkPurpose.UNSUBSCRIBE, token)
    await site_of(request).channels.silence_mail(user.name)
    return json_answer(Unsubscribed())


# Following a run, for users who may see it.


@described(
    Operation(
        "Follow a run, and be told when it ends", {200: people.FollowedRun}, path=BY_ID, bearer=True
    )
)
@runs(Domain.LOOP, "awaits one write")
async def follow_run(request: Request) -> Response:
    return await _set_following(request, following=True)


@described(Operation("Stop following a run", {200: people.FollowedRun}, path=BY_ID, bearer=True))
@runs(Domain.LOOP, "awaits one write")
async def unfollow_run(request: Request) -> Response:
    return await _set_following(request, following=False)


async def _set_following(request: Request, *, following: bool) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.SUBMIT, Scope.APPROVE)
    with translated_errors():
        run = await find_run(site, str(request.path_params["run_id"]), bearer.user.name)
        await site.subscriptions.put(run.id, bearer.user.name, following=following)
    return json_answer(people.FollowedRun(run=run.id, following=following))


# Channels. Mail is chosen in the profile, since its address has to be confirmed there.


@described(Operation("Your notification channels", {200: people.ChannelList}, bearer=True))
@runs(Domain.LOOP, "awaits one query")
async def list_channels(request: Request) -> Response:
    site, bearer = site_of(request), await _reader(request)
    found = await site.channels.of(bearer.user.name)
    shown = tuple(map(_show_channel, found))
    return json_answer(people.ChannelList(channels=shown), headers=UNSEEN)


@described(
    Operation(
        "Add a webhook; its secret is shown only once",
        {201: people.MadeWebhook},
        body=people.NewWebhook,
        bearer=True,
    )
)
@runs(Domain.THREAD, "the address is looked up in an io thread")
async def add_channel(request: Request) -> Response:
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.SUBMIT)
    body = await read_body(request.receive)
    with translated_errors():
        wish = NEW_WEBHOOK.read(body)
        kinds = frozenset(map(NotificationKind, wish.kinds)) & list_open_kinds(bearer.user)
        errors = await check_webhook(site, bearer.user, wish.form, wish.address.strip(), kinds)
        for field, text in errors.items():
            raise BadField(field="kinds" if field == "kind" else field, text=text)
        form = ChannelForm(wish.form)
        made = make_channel(site, bearer.user, form, wish.address.strip(), kinds)
        number = await site.channels.add(made)
    entry = people.ChannelEntry(**{**asdict(_show_channel(made)), "id": number})
    return json_answer(people.MadeWebhook(secret=made.secret, channel=entry), 201, UNSEEN)


@described(
    Operation(
        "Remove a webhook",
        {200: people.ChannelList},
        path={"channel_id": v1.Sequence},
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one write")
async def remove_channel(request: Request) -> Response:
    """Remove a channel and return the remaining ones."""
    site = site_of(request)
    bearer = await require_bearer(request, site.bearers, Scope.SUBMIT)
    name, number = bearer.user.name, int(request.path_params["channel_id"])
    own = await site.channels.of(name)
    if not any(each.id == number and each.form in WEBHOOKS for each in own):
        raise NotFound("You have no such webhook.")
    await site.channels.remove(number, name)
    left = tuple(_show_channel(each) for each in own if each.id != number)
    return json_answer(people.ChannelList(channels=left), headers=UNSEEN)


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


@described(
    Operation(
        "Your notifications, and whether they were delivered",
        {200: people.ToldList},
        query=PAGING,
        bearer=True,
    )
)
@runs(Domain.LOOP, "awaits one query")
async def list_told(request: Request) -> Response:
    site, bearer = site_of(request), await _reader(request)
    with translated_errors():
        page, size = read_page(request.query_params)
    found = await site.outbox.page(bearer.user.name, (page - 1) * size, size + 1)
    hidden = site.privacy.hidden(bearer.user.name)
    told = tuple(_show_told(each) for each in found[:size] if not each.engines & hidden)
    return json_answer(people.ToldList(told=told, page=page, more=len(found) > size))


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


async def _reader(request: Request) -> Bearer:
    return await require_bearer(request, site_of(request).bearers, Scope.READ)
