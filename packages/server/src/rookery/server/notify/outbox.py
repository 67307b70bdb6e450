"""The channels of users' notifications, the runs that they follow, and the outbox: values and rows.

A notification is written to the outbox in the commit that causes it (`farm/writing.py` for runs,
`people/users.py` for accounts). Then it is distributed to channels as deliveries, and each channel
gets its waiting deliveries. None is removed before it was accepted or given up, even if the process
crashes.
"""

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rookery.core.model.notifications import FOR_APPROVERS, Notification, NotificationKind
from rookery.server.db.pool import clean
from rookery.server.db.table import Table
from rookery.server.identity.users import APPROVERS


class ChannelForm(enum.StrEnum):
    """The kinds of channels, which determine the format of what they are sent."""

    MAIL = "mail"
    JSON = "json"
    DISCORD = "discord"
    SLACK = "slack"


class DeliveryState(enum.StrEnum):
    """The state of a delivery of one notification to one channel."""

    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class NotificationChannel:
    """A channel by which a user gets the kinds of notifications that they chose. `address` and
    `secret` are those of a webhook. `failures` counts since the last success."""

    id: int
    user_name: str
    form: ChannelForm
    address: str
    secret: str
    kinds: frozenset[NotificationKind]
    active: bool
    created: datetime
    failures: int
    next_at: datetime


@dataclass(frozen=True, slots=True)
class DueDelivery:
    """A notification that waits for delivery to a channel, with the engines of its run."""

    id: int
    told: Notification
    engines: frozenset[str]


@dataclass(frozen=True, slots=True)
class DueBatch:
    """Everything that is sent to a channel together; `email` is the user's address if it is
    confirmed."""

    channel: NotificationChannel
    email: str
    deliveries: tuple[DueDelivery, ...]


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    """A line of the log of deliveries."""

    id: int
    told: Notification
    engines: frozenset[str]
    form: ChannelForm
    address: str
    user_name: str
    state: DeliveryState
    attempts: int
    error: str
    ended: datetime | None
    next_at: datetime


class Channels(Table):
    """The rows of channels."""

    async def of(self, user: str) -> tuple[NotificationChannel, ...]:
        """Return the channels of a user, mail first."""
        return await self._many(_decode_channel, "channels_of_user", user)

    async def add(self, channel: NotificationChannel) -> int:
        """Add a channel and return its number; a mail channel replaces the previous one."""
        texts = (channel.user_name, channel.form.value, clean(channel.address), channel.secret)
        kinds = sorted(channel.kinds)
        found = await self._write("channels_add", *texts, kinds, channel.active, channel.created)
        return int(found)

    async def change(self, channel: NotificationChannel) -> bool:
        """Store which notifications a user's channel gets, and whether it is on; False if it does
        not exist."""
        values = (sorted(channel.kinds), channel.active, channel.next_at)
        found = await self._write("channels_change", channel.id, channel.user_name, *values)
        return found is not None

    async def remove(self, channel: int, user: str) -> bool:
        return await self._write("channels_remove", channel, user) is not None

    async def silence_mail(self, user: str) -> bool:
        """Switch a user's mail off; False if it was off already."""
        return await self._write("channels_silence_mail", user) is not None


class Subscriptions(Table):
    """The rows of which users follow which runs."""

    async def put(self, run: str, user: str, *, following: bool) -> None:
        await self._write("subscriptions_put", run, user, following)

    async def list_followed(self, user: str, since: datetime, most: int) -> frozenset[str]:
        """Return the runs that a user follows that have not ended, or changed since `since`."""
        return frozenset(await self._column("subscriptions_of_user", user, since, most))

    async def follows(self, run: str, user: str) -> bool:
        """Whether a user follows a run; owners do unless they opted out."""
        return bool(await self._value("subscriptions_of", run, user))


class Outbox(Table):
    """The rows of notifications and their deliveries."""

    async def spread(self, most: int) -> int:
        """Create the deliveries of new notifications; return how many notifications there were."""
        kinds = sorted(FOR_APPROVERS)
        async with self._writing() as write:
            return len(await write.column("outbox_spread", most, kinds, APPROVERS))

    async def due(self, now: datetime, channels: int, each: int) -> tuple[DueBatch, ...]:
        """Return the deliveries that may be sent now, for at most `channels` channels and `each`
        for each of them."""
        rows = await self._many(_decode_due, "deliveries_due", now, channels, each)
        batches: dict[int, DueBatch] = {}
        for channel, email, delivery in rows:
            before = batches.get(channel.id)
            known = before.deliveries if before else ()
            batches[channel.id] = DueBatch(channel, email, (*known, delivery))
        return tuple(batches.values())

    async def end(
        self, deliveries: Collection[int], state: DeliveryState, error: str, at: datetime
    ) -> None:
        """Mark deliveries that need no further attempt."""
        await self._write("deliveries_end", list(deliveries), state.value, clean(error), at)

    async def postpone(
        self, channel: NotificationChannel, deliveries: Sequence[int], error: str, until: datetime
    ) -> None:
        """Note that a channel did not accept deliveries; it is not tried again before `until`."""
        async with self._writing() as write:
            await write("deliveries_retry", list(deliveries), clean(error))
            await write("channels_pause", channel.id, until, channel.failures + 1)

    async def rest(self, channel: NotificationChannel, until: datetime) -> None:
        """Note that a channel has accepted something; it gets nothing more before `until`."""
        await self._write("channels_pause", channel.id, until, 0)

    async def forget(self, before: datetime) -> None:
        """Remove old notifications with their deliveries, some at a time."""
        await self._write("outbox_forget", before)

    async def page(self, user: str, first: int, count: int) -> tuple[LoggedDelivery, ...]:
        """Return the log, the latest first: of a user, or of everybody for an empty name."""
        return await self._many(_decode_logged, "deliveries_page", user, count, first)


def _decode_channel(form: str, kinds: list[str], **row: Any) -> NotificationChannel:
    return NotificationChannel(
        form=ChannelForm(form), kinds=frozenset(map(NotificationKind, kinds)), **row
    )


def _decode_notification(row: dict[str, Any]) -> Notification:
    """Take the columns of a notification out of a row."""
    names = ("at", "actor", "run", "title", "message", "subject")
    return Notification(
        kind=NotificationKind(row.pop("kind")), **{name: row.pop(name) for name in names}
    )


def _decode_due(
    *, delivery: int, engines: list[str], email: str, verified_email: str, **row: Any
) -> tuple[NotificationChannel, str, DueDelivery]:
    told = _decode_notification(row)
    confirmed = email if email and email == verified_email else ""
    return _decode_channel(**row), confirmed, DueDelivery(delivery, told, frozenset(engines))


def _decode_logged(*, form: str, state: str, engines: list[str], **row: Any) -> LoggedDelivery:
    told = _decode_notification(row)
    return LoggedDelivery(
        told=told,
        engines=frozenset(engines),
        form=ChannelForm(form),
        state=DeliveryState(state),
        **row,
    )
