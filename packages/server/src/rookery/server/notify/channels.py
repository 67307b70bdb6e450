"""Ways to notify people, as chosen on the pages and through the JSON API: kinds of messages,
webhooks, and the user whom a link from a mail belongs to."""

import secrets
from dataclasses import dataclass
from datetime import datetime

from rookery.core.boundary.offload import Threads
from rookery.core.errors import make_sentence
from rookery.core.model.notifications import FOR_APPROVERS, NotificationKind
from rookery.server.http.signatures import Parts
from rookery.server.identity.links import LinkPurpose, LinkSigner
from rookery.server.identity.login import Throttled
from rookery.server.identity.profiles import Profiles
from rookery.server.identity.users import User, Users, is_approver
from rookery.server.notify.outbox import ChannelForm, Channels, NotificationChannel
from rookery.server.notify.webhooks import LONGEST_ADDRESS, WebhookRefused, Webhooks

MOST_CHANNELS = 10
TOO_MANY = f"You have {MOST_CHANNELS} channels, which is the most; remove one first."
NO_ADDRESS = "Give the address of the webhook, such as https://host/path."
WEBHOOKS = frozenset({ChannelForm.JSON, ChannelForm.DISCORD, ChannelForm.SLACK})


def list_open_kinds(user: User) -> frozenset[NotificationKind]:
    """Return the kinds of notifications that a user may choose."""
    everything = frozenset(NotificationKind)
    return everything if is_approver(user) else everything - FOR_APPROVERS


@dataclass(frozen=True, slots=True)
class WebhookChecks(Parts):
    """Checks what a user enters for a new webhook."""

    channels: Channels
    profiles: Profiles
    webhooks: Webhooks
    threads: Threads

    async def find_mistakes(
        self, user: User, form: str, address: str, kinds: frozenset[NotificationKind]
    ) -> dict[str, str]:
        """Return the mistakes by form field."""
        if len(await self.channels.of(user.name)) >= MOST_CHANNELS:
            return {"address": TOO_MANY}
        errors: dict[str, str] = {}
        if form not in {each.value for each in WEBHOOKS}:
            errors["form"] = "Choose one of these."
        if not kinds:
            errors["kind"] = "Choose at least one kind of notification."
        if not address or len(address) > LONGEST_ADDRESS or not address.isascii():
            return errors | {"address": NO_ADDRESS}
        try:
            self.profiles.charge_trial(user.name)
            await self.threads.io(self.webhooks.check, address)
        except Throttled as refused:
            errors["address"] = str(refused)
        except WebhookRefused as refused:
            errors["address"] = make_sentence(refused)
        return errors


def make_channel(
    user: User,
    form: ChannelForm,
    address: str,
    kinds: frozenset[NotificationKind],
    now: datetime,
) -> NotificationChannel:
    secret = "" if form is ChannelForm.MAIL else secrets.token_urlsafe(24)
    return NotificationChannel(0, user.name, form, address, secret, kinds, bool(kinds), now, 0, now)


@dataclass(frozen=True, slots=True)
class LinkedUsers(Parts):
    """Finds the users whom links from mails belong to."""

    users: Users
    links: LinkSigner

    async def find(self, purpose: LinkPurpose, token: str) -> User:
        """Return the user of a link. Raise LinkRefused, which says what to do."""
        user = await self.users.by_name(self.links.read_name(purpose, token))
        return self.links.check(purpose, token, user)
