"""Ways to notify people, as chosen on the pages and through the JSON API: kinds of messages,
webhooks, and the user whom a link from a mail belongs to."""

import secrets

from rookery.core.errors import make_sentence
from rookery.server.app.site import Site
from rookery.server.farm.rules.notifications import FOR_APPROVERS, NotificationKind
from rookery.server.notify.outbox import ChannelForm, NotificationChannel
from rookery.server.notify.webhooks import LONGEST_ADDRESS, WebhookRefused
from rookery.server.people.links import LinkPurpose
from rookery.server.people.login import Throttled
from rookery.server.people.users import User, is_approver

MOST_CHANNELS = 10
WEBHOOKS = frozenset({ChannelForm.JSON, ChannelForm.DISCORD, ChannelForm.SLACK})


def list_open_kinds(user: User) -> frozenset[NotificationKind]:
    """The kinds of notifications that a user may choose."""
    everything = frozenset(NotificationKind)
    return everything if is_approver(user) else everything - FOR_APPROVERS


async def check_webhook(
    site: Site, user: User, form: str, address: str, kinds: frozenset[NotificationKind]
) -> dict[str, str]:
    """The mistakes in a new webhook, by form field."""
    if len(await site.channels.of(user.name)) >= MOST_CHANNELS:
        return {
            "address": f"You have {MOST_CHANNELS} channels, which is the most; remove one first."
        }
    errors: dict[str, str] = {}
    if form not in {each.value for each in WEBHOOKS}:
        errors["form"] = "Choose one of these."
    if not kinds:
        errors["kind"] = "Choose at least one kind of notification."
    if not address or len(address) > LONGEST_ADDRESS or not address.isascii():
        return errors | {"address": "Give the address of the webhook, such as https://host/path."}
    try:
        site.profiles.charge_trial(user.name)
        await site.threads.io(site.webhooks.check, address)
    except Throttled as refused:
        errors["address"] = str(refused)
    except WebhookRefused as refused:
        errors["address"] = make_sentence(refused)
    return errors


def make_channel(
    site: Site, user: User, form: ChannelForm, address: str, kinds: frozenset[NotificationKind]
) -> NotificationChannel:
    now = site.clock.now()
    secret = "" if form is ChannelForm.MAIL else secrets.token_urlsafe(24)
    return NotificationChannel(0, user.name, form, address, secret, kinds, bool(kinds), now, 0, now)


async def find_linked_user(site: Site, purpose: LinkPurpose, token: str) -> User:
    """The user whom a link from a mail belongs to. Raises LinkRefused, which says what to do."""
    user = await site.users.by_name(site.links.read_name(purpose, token))
    return site.links.check(purpose, token, user)
