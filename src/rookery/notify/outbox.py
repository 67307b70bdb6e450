"""Channels by which people want to be told, who follows which run, and the outbox: values and rows.

A notification is written to the outbox in the commit that causes it (`farm/writing.py` for runs,
`people/users.py` for accounts). It is spread to channels after that, and each channel is sent what
waits for it; nothing is forgotten before it was taken or given up, whatever ends the process.
"""

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rookery.db.pool import clean
from rookery.db.table import Table
from rookery.people.users import APPROVERS
from rookery.rules.notifications import FOR_APPROVERS, Notification, NotificationKind


class ChannelForm(enum.StrEnum):
    """What a channel is, and in which form it takes what it is sent."""

    MAIL = "mail"
    JSON = "json"
    DISCORD = "discord"
    SLACK = "slack"


class DeliveryState(enum.StrEnum):
    """What came of telling one thing to one channel."""

    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class NotificationChannel:
    """A way to tell a user of the kinds they chose. `address` and `secret` are those of a webhook.
    `failures` counts since something was last taken."""

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
    """A notification that waits for a channel, with the engines of its run."""

    id: int
    told: Notification
    engines: frozenset[str]


@dataclass(frozen=True, slots=True)
class DueBatch:
    """All that is sent to a channel at once; `email` is the user's address if it is confirmed."""

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
        """The channels of a user, mail first."""
        return await self._many(_decode_channel, "channels_of_user", user)

    async def add(self, channel: NotificationChannel) -> int:
        """Adds a channel and returns its number; mail takes the place of what was there."""
        texts = (channel.user_name, channel.form.value, clean(channel.address), channel.secret)
        kinds = sorted(channel.kinds)
        found = await self._write("channels_add", *texts, kinds, channel.active, channel.created)
        return int(found)

    async def change(self, channel: NotificationChannel) -> bool:
        """Stores what a channel of a user is told and whether at all; False where there is none."""
        values = (sorted(channel.kinds), channel.active, channel.next_at)
        found = await self._write("channels_change", channel.id, channel.user_name, *values)
        return found is not None

    async def remove(self, channel: int, user: str) -> bool:
        return await self._write("channels_remove", channel, user) is not None

    async def silence_mail(self, user: str) -> bool:
        """Sends a user no more mail; False where none was sent anyway."""
        return await self._write("channels_silence_mail", user) is not None


class Subscriptions(Table):
    """The rows of who follows which run."""

    async def put(self, run: str, user: str, *, following: bool) -> None:
        await self._write("subscriptions_put", run, user, following)

    async def list_followed(self, user: str, since: datetime, most: int) -> frozenset[str]:
        """The runs that a user follows and that have not ended, or changed last after a time."""
        return frozenset(await self._column("subscriptions_of_user", user, since, most))

    async def follows(self, run: str, user: str) -> bool:
        """Whether a user follows a run; owners do unless they said no."""
        return bool(await self._value("subscriptions_of", run, user))


class Outbox(Table):
    """The rows of what is to be told, and of what came of it."""

    async def spread(self, most: int) -> int:
        """Makes the deliveries of new notifications; how many notifications there were."""
        kinds = sorted(FOR_APPROVERS)
        async with self._writing() as write:
            return len(await write.column("outbox_spread", most, kinds, APPROVERS))

    async def due(self, now: datetime, channels: int, each: int) -> tuple[DueBatch, ...]:
        """What may be sent now, by channel: to so many channels, so much to each."""
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
        """Deliveries that need no further attempt."""
        await self._write("deliveries_end", list(deliveries), state.value, clean(error), at)

    async def postpone(
        self, channel: NotificationChannel, deliveries: Sequence[int], error: str, until: datetime
    ) -> None:
        """A channel that did not take deliveries; it is left alone until then."""
        async with self._writing() as write:
            await write("deliveries_retry", list(deliveries), clean(error))
            await write("channels_pause", channel.id, until, channel.failures + 1)

    async def rest(self, channel: NotificationChannel, until: datetime) -> None:
        """A channel that has taken something is left alone until then."""
        await self._write("channels_pause", channel.id, until, 0)

    async def forget(self, before: datetime) -> None:
        """Removes old notifications with their deliveries, some at a time."""
        await self._write("outbox_forget", before)

    async def page(self, user: str, first: int, count: int) -> tuple[LoggedDelivery, ...]:
        """The log, the latest first: of a user, or of everybody for an empty name."""
        return await self._many(_decode_logged, "deliveries_page", user, count, first)


def _decode_channel(form: str, kinds: list[str], **row: Any) -> NotificationChannel:
    return NotificationChannel(
        form=ChannelForm(form), kinds=frozenset(map(NotificationKind, kinds)), **row
    )


def _decode_notification(row: dict[str, Any]) -> Notification:
    """Takes the columns of a notification out of a row."""
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
