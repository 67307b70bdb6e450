"""The job that distributes new notifications and sends each channel its waiting deliveries.

    waiting --taken--> sent
    waiting --not taken--> waiting, and its channel is left alone for a growing while
    waiting --not taken for three days, or no attempt can help--> failed
    waiting --its user may not know of it, does not want it, or has no confirmed address--> dropped

Deliveries that wait for a channel are sent together, and a channel rests after each success, so
that nobody is flooded. A delivery is marked after it was sent: a crash in between has it sent
twice, but never lost.
"""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta

from rookery.core.model.notifications import FOR_APPROVERS
from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.target import pass_test_point
from rookery.server.engines.privacy import Privacy
from rookery.server.identity.links import LinkPurpose
from rookery.server.identity.users import User, Users, is_approver
from rookery.server.notify.link_mail import LinkMails
from rookery.server.notify.mail import (
    MailRefused,
    MailServer,
    make_mail,
    refuse_unforeseen,
    sender_domain,
)
from rookery.server.notify.outbox import (
    ChannelForm,
    DeliveryState,
    DueBatch,
    DueDelivery,
    NotificationChannel,
    Outbox,
)
from rookery.server.notify.webhooks import WebhookRefused, Webhooks
from rookery.server.notify.wording import make_subject, make_text

SEND_SECONDS = 3.0
SPREAD_AT_ONCE = 200
CHANNELS_AT_ONCE = 8
EACH_AT_ONCE = 25
BACK_OFF = (30, 120, 600, 1800, 3600, 7200, 14400)
"""The seconds for which a channel is not tried after each failure; the last value is repeated."""
REST_SECONDS = {ChannelForm.MAIL: 300.0}
WEBHOOK_REST_SECONDS = 5.0
GIVEN_UP = timedelta(days=3)
KEPT = timedelta(days=30)
NOT_SEEN = "you may not see this any more"
NOT_WANTED = "you have switched this notification off"
NO_ADDRESS = "your e-mail address is not confirmed"
NO_MAIL = "this server sends no mail"


class Sender:
    """Sends what is in the outbox; a job of the primary only."""

    def __init__(
        self,
        outbox: Outbox,
        users: Users,
        link_mails: LinkMails,
        webhooks: Webhooks,
        privacy: Privacy,
        is_primary: Callable[[], bool],
    ) -> None:
        self._outbox = outbox
        self._users = users
        self._mail: MailServer = link_mails.server
        self._link_mails = link_mails
        self._webhooks = webhooks
        self._privacy = privacy
        self._threads, self._clock, self._log = link_mails.threads, link_mails.clock, link_mails.log
        self._is_primary = is_primary

    @runs(Domain.THREAD, "SMTP and webhooks are called in io threads")
    async def send_due(self) -> None:
        """Distribute new notifications and send due deliveries."""
        if not self._is_primary():
            return
        await self._link_mails.flush()
        while await self._outbox.spread(SPREAD_AT_ONCE) == SPREAD_AT_ONCE:
            pass
        batches = await self._outbox.due(self._clock.now(), CHANNELS_AT_ONCE, EACH_AT_ONCE)
        await asyncio.gather(*map(self._send_batch, batches))

    @runs(Domain.LOOP, "awaits one write")
    async def forget_old(self) -> None:
        """Remove entries that are too old for the log."""
        if self._is_primary():
            await self._outbox.forget(self._clock.now() - KEPT)

    async def _send_batch(self, batch: DueBatch) -> None:
        channel, now = batch.channel, self._clock.now()
        user = await self._users.by_name(channel.user_name)
        if user is None:
            return
        judged = [(each, self._find_objection(channel, user, each)) for each in batch.deliveries]
        for why in (NOT_SEEN, NOT_WANTED):
            if dropped := [each for each, found in judged if found == why]:
                await self._end(dropped, DeliveryState.DROPPED, why)
        shown = [each for each, found in judged if not found]
        if channel.form is ChannelForm.MAIL and (why := self._find_obstacle(batch)):
            await self._end(shown, DeliveryState.DROPPED, why)
        elif shown:
            pass_test_point("notification_due")
            try:
                await self.send(channel, user, batch.email, shown)
            except (MailRefused, WebhookRefused) as refused:
                await self._take_refusal(channel, shown, refused)
                return
            pass_test_point("notification_sent")
            await self._end(shown, DeliveryState.SENT, "")
        rest = REST_SECONDS.get(channel.form, WEBHOOK_REST_SECONDS) if shown else 0.0
        await self._outbox.rest(channel, now + timedelta(seconds=rest))

    def _find_objection(self, channel: NotificationChannel, user: User, due: DueDelivery) -> str:
        """Why a message may not be sent now; empty if it may. A blocked user gets nothing, and only
        a present approver gets what is for approvers."""
        for_others = due.told.kind in FOR_APPROVERS and not is_approver(user)
        if user.blocked or for_others or due.engines & self._privacy.hidden(user.name):
            return NOT_SEEN
        return "" if channel.active and due.told.kind in channel.kinds else NOT_WANTED

    def _find_obstacle(self, batch: DueBatch) -> str:
        """Why a user can't get mail; empty if they can."""
        if not self._mail.is_set_up:
            return NO_MAIL
        return "" if batch.email else NO_ADDRESS

    async def send(
        self,
        channel: NotificationChannel,
        user: User,
        email: str,
        deliveries: Sequence[DueDelivery],
    ) -> None:
        """Send deliveries to a channel together; raise MailRefused or WebhookRefused, permanently
        for unexpected errors."""
        try:
            if channel.form is ChannelForm.MAIL:
                await self._send_mail(channel, user, email, deliveries)
            else:
                told = [each.told for each in deliveries]
                await self._threads.io(self._webhooks.send, channel, told)
        except (MailRefused, WebhookRefused):
            raise
        except Exception as error:
            raise refuse_unforeseen(error) from error

    async def _send_mail(
        self,
        channel: NotificationChannel,
        user: User,
        email: str,
        deliveries: Sequence[DueDelivery],
    ) -> None:
        told = [each.told for each in deliveries]
        token, server = (
            self._link_mails.links.make(LinkPurpose.UNSUBSCRIBE, user),
            self._webhooks.server,
        )
        first, last = deliveries[0].id, deliveries[-1].id
        more = {
            "Message-ID": f"<rookery.{channel.id}.{first}.{last}@{sender_domain(self._mail)}>",
            "List-Unsubscribe": f"<{server}/api/v1/unsubscribe?token={token}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
        text = make_text(told, server, f"{server}/unsubscribe?token={token}")
        mail = make_mail(self._mail, self._clock, email, make_subject(told), text, more)
        await self._threads.io(self._mail.send, mail)

    async def _take_refusal(
        self,
        channel: NotificationChannel,
        deliveries: Sequence[DueDelivery],
        refused: MailRefused | WebhookRefused,
    ) -> None:
        now, why = self._clock.now(), str(refused)
        lost = [each for each in deliveries if refused.for_good or now - each.told.at > GIVEN_UP]
        if lost:
            await self._end(lost, DeliveryState.FAILED, why)
        pause = BACK_OFF[min(channel.failures, len(BACK_OFF) - 1)]
        rest = [each.id for each in deliveries if each not in lost]
        await self._outbox.postpone(channel, rest, why, now + timedelta(seconds=pause))
        self._log.warning(
            "notification_not_sent",
            user=channel.user_name,
            form=channel.form.value,
            why=why,
            failures=channel.failures + 1,
        )

    async def _end(self, deliveries: Sequence[DueDelivery], state: DeliveryState, why: str) -> None:
        ids = [each.id for each in deliveries]
        await self._outbox.end(ids, state, why, self._clock.now())
