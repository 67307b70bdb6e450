"""Webhooks: what is sent to them, how it is signed, and where they may lead.

Users choose the addresses. As with git, the name is resolved once, all its IP addresses must be
public unless the operator allows the host, the connection goes to an address that was checked, and
redirects are not followed.
"""

import hashlib
import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import msgspec

from rookery.core.clock import Clock
from rookery.core.errors import Complaint
from rookery.core.http_client import HttpClient
from rookery.core.http_failures import CallFailed
from rookery.core.model.notifications import Notification
from rookery.server.notify.outbox import ChannelForm, NotificationChannel
from rookery.server.notify.wording import describe_notification, link_to
from rookery.server.sources.commits import HostNotFound, SourceError
from rookery.server.sources.git import FetchPolicy, Resolve, resolve_host

WEBHOOK_SECONDS = 10.0
LARGEST_ANSWER = 64 * 1024
LONGEST_ADDRESS = 500
DISCORD_CHARACTERS = 1900
SLACK_CHARACTERS = 3000
TIME_HEADER = "X-Rookery-Timestamp"
SIGNATURE_HEADER = "X-Rookery-Signature"
GONE = 410
NO_HTTPS = "an address must begin with https://, as in https://host/path"
_DISCORD_MARKS = re.compile(r"[\\*_~`|\[\]()<>#]")
CLIENT = HttpClient(seconds=WEBHOOK_SECONDS, largest=LARGEST_ANSWER)


class WebhookRefused(Complaint):
    """A webhook did not take what it was sent. `for_good` where no further attempt can help."""

    def __init__(self, text: str, *, for_good: bool = False) -> None:
        super().__init__(text)
        self.for_good = for_good


class NotificationBody(msgspec.Struct, frozen=True, kw_only=True):
    """A notification in the body of a webhook."""

    kind: str
    at: datetime
    title: str
    text: str
    url: str
    run: str = ""
    user: str = ""


class WebhookBody(msgspec.Struct, frozen=True, kw_only=True):
    """What a webhook of the plain form is sent."""

    server: str
    notifications: tuple[NotificationBody, ...]


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Calls webhooks; `inside` are hosts of the internal network that the operator allows."""

    server: str
    inside: frozenset[str]
    clock: Clock
    resolve: Resolve = resolve_host

    def check(self, address: str) -> str:
        """Check an address and return the IP address to connect to; raise WebhookRefused.
        Blocks."""
        try:
            host = urlsplit(address).hostname or ""
            schemes = {"https", "http"} if host in self.inside else {"https"}
            if urlsplit(address).scheme not in schemes:
                raise WebhookRefused(NO_HTTPS, for_good=True)
            policy = FetchPolicy(frozenset(schemes), self.inside, self.resolve)
            found = policy.check(address)
        except HostNotFound as lost:
            raise WebhookRefused(str(lost)) from None
        except SourceError as refused:
            raise WebhookRefused(str(refused), for_good=True) from None
        except ValueError:
            raise WebhookRefused("this is not a web address", for_good=True) from None
        if not found.addresses:
            raise WebhookRefused(f"there is no host {host}")
        return found.addresses[0]

    def send(self, channel: NotificationChannel, told: Sequence[Notification]) -> None:
        """Send notifications to a webhook. Blocks, for a limited time; raise WebhookRefused."""
        body = encode_body(channel.form, told, self.server)
        headers = {
            "Content-Type": "application/json",
            **sign_body(channel.secret, body, int(self.clock.now().timestamp())),
        }
        at = self.check(channel.address)
        try:
            status = CLIENT.post_to_stranger(channel.address, at, body, headers)
        except CallFailed as failed:
            raise WebhookRefused(str(getattr(failed, "reason", "") or failed)) from failed
        if not 200 <= status < 300:
            raise WebhookRefused(f"it answers {status}", for_good=status == GONE)


def sign_body(secret: str, body: bytes, seconds: int) -> Mapping[str, str]:
    """Return the headers that prove to a receiver that a body is from this server, and how old it
    is."""
    signed = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256)
    return {TIME_HEADER: str(seconds), SIGNATURE_HEADER: f"sha256={signed.hexdigest()}"}


def encode_body(form: ChannelForm, told: Sequence[Notification], server: str) -> bytes:
    """Return the body for a channel of this form."""
    return _ENCODERS[form](told, server)


def _encode_json(told: Sequence[Notification], server: str) -> bytes:
    things = tuple(
        NotificationBody(
            kind=each.kind,
            at=each.at,
            title=each.title,
            text=describe_notification(each),
            url=link_to(each, server),
            run=each.run,
            user=each.subject,
        )
        for each in told
    )
    return msgspec.json.encode(WebhookBody(server=server, notifications=things))


def _encode_discord(told: Sequence[Notification], server: str) -> bytes:
    lines = [
        f"{_escape_discord(describe_notification(each))}\n<{link_to(each, server)}>"
        for each in told
    ]
    text = _join(lines, DISCORD_CHARACTERS)
    # Names in branches must not notify the people of those names.
    return msgspec.json.encode({"content": text, "allowed_mentions": {"parse": []}})


def _encode_slack(told: Sequence[Notification], server: str) -> bytes:
    lines = [
        f"{_escape_slack(describe_notification(each))}\n<{link_to(each, server)}>" for each in told
    ]
    return msgspec.json.encode({"text": _join(lines, SLACK_CHARACTERS)})


def _escape_discord(text: str) -> str:
    """Escape formatting characters, by which a branch name could show a link under any words."""
    return _DISCORD_MARKS.sub(r"\\\g<0>", text)


def _escape_slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _join(lines: Sequence[str], most: int) -> str:
    """As many lines as fit, and the number of those left out."""
    kept: list[str] = []
    for line in lines:
        if sum(map(len, kept)) + len(kept) + len(line) > most - 20:
            break
        kept.append(line)
    left = len(lines) - len(kept)
    return "\n".join([*kept, f"and {left} more"] if left else kept)


_ENCODERS: Mapping[ChannelForm, Callable[[Sequence[Notification], str], bytes]] = {
    ChannelForm.JSON: _encode_json,
    ChannelForm.DISCORD: _encode_discord,
    ChannelForm.SLACK: _encode_slack,
}
