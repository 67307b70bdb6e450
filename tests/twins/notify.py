"""Channels, subscriptions, links by mail and the outbox in memory; nothing writes to this
outbox."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime

from rookery.server.identity.links import LinkPurpose
from rookery.server.notify.link_mail import LinkMailRows, WantedLinkMail
from rookery.server.notify.outbox import (
    ChannelForm,
    Channels,
    DeliveryState,
    DueBatch,
    LoggedDelivery,
    NotificationChannel,
    Outbox,
    Subscriptions,
)


class MemoryChannels(Channels):
    def __init__(self) -> None:
        self._channels: dict[int, NotificationChannel] = {}

    async def of(self, user: str) -> tuple[NotificationChannel, ...]:
        found = [each for each in self._channels.values() if each.user_name == user]
        return tuple(sorted(found, key=lambda each: (each.form != ChannelForm.MAIL, each.id)))

    async def add(self, channel: NotificationChannel) -> int:
        former = [
            each.id
            for each in self._channels.values()
            if each.user_name == channel.user_name and channel.form is each.form is ChannelForm.MAIL
        ]
        number = former[0] if former else len(self._channels) + 1
        self._channels[number] = replace(channel, id=number)
        return number

    async def change(self, channel: NotificationChannel) -> bool:
        known = self._channels.get(channel.id)
        if known is None or known.user_name != channel.user_name:
            return False
        self._channels[channel.id] = replace(known, kinds=channel.kinds, active=channel.active)
        return True

    async def remove(self, channel: int, user: str) -> bool:
        known = self._channels.get(channel)
        return known is not None and known.user_name == user and bool(self._channels.pop(channel))

    async def silence_mail(self, user: str) -> bool:
        for each in await self.of(user):
            if each.form is ChannelForm.MAIL:
                self._channels[each.id] = replace(each, active=False)
                return True
        return False


class MemorySubscriptions(Subscriptions):
    """Subscriptions without the default for owners."""

    def __init__(self) -> None:
        self._following: dict[tuple[str, str], bool] = {}

    async def put(self, run: str, user: str, *, following: bool) -> None:
        self._following[run, user] = following

    async def list_followed(self, user: str, since: datetime, most: int) -> frozenset[str]:
        del since, most
        return frozenset(run for (run, name), on in self._following.items() if on and name == user)

    async def follows(self, run: str, user: str) -> bool:
        return self._following.get((run, user), False)


class MemoryLinkMails(LinkMailRows):
    def __init__(self) -> None:
        self._waiting: dict[tuple[LinkPurpose, str], tuple[WantedLinkMail, datetime]] = {}

    async def put(self, purpose: LinkPurpose, user: str, now: datetime) -> None:
        self._waiting[purpose, user] = WantedLinkMail(purpose, user, now, 0), now

    async def list_due(self, now: datetime, most: int) -> tuple[WantedLinkMail, ...]:
        due = [letter for letter, next_at in self._waiting.values() if next_at <= now]
        return tuple(due[:most])

    async def end(self, letter: WantedLinkMail) -> None:
        if self._is_same(letter):
            del self._waiting[letter.purpose, letter.user_name]

    async def retry(self, letter: WantedLinkMail, error: str, until: datetime) -> None:
        del error
        if self._is_same(letter):
            again = replace(letter, attempts=letter.attempts + 1)
            self._waiting[letter.purpose, letter.user_name] = again, until

    def _is_same(self, letter: WantedLinkMail) -> bool:
        known = self._waiting.get((letter.purpose, letter.user_name))
        return known is not None and known[0].asked == letter.asked


class MemoryOutbox(Outbox):
    """An outbox that is empty except for its log, which a test may fill."""

    def __init__(self) -> None:
        self.log: list[LoggedDelivery] = []

    async def spread(self, most: int) -> int:
        del most
        return 0

    async def due(self, now: datetime, channels: int, each: int) -> tuple[DueBatch, ...]:
        del now, channels, each
        return ()

    async def end(
        self, deliveries: Collection[int], state: DeliveryState, error: str, at: datetime
    ) -> None:
        """There are none."""

    async def postpone(
        self, channel: NotificationChannel, deliveries: Sequence[int], error: str, until: datetime
    ) -> None:
        """There are none."""

    async def rest(self, channel: NotificationChannel, until: datetime) -> None:
        """Does nothing: nothing was sent."""

    async def forget(self, before: datetime) -> None:
        """Does nothing: there are no notifications."""

    async def page(self, user: str, first: int, count: int) -> tuple[LoggedDelivery, ...]:
        found = [each for each in self.log if user in ("", each.user_name)]
        return tuple(found[first : first + count])
