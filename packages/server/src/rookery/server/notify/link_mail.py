"""Sends mail with links that people asked for: to confirm an address, or to set a new password.

A table stores who asked for which link; the link is signed when its mail is sent. So no secret is
stored, no request is lost in a crash, and the link is bound to the address and password at that
moment. Any process may add a request; the primary sends the mail.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from rookery.server.boundary.domains import Domain, runs
from rookery.server.db.pool import clean
from rookery.server.db.table import Table
from rookery.server.http.steps import Process
from rookery.server.identity.links import LASTING, LinkPurpose, LinkSigner
from rookery.server.identity.users import User, Users
from rookery.server.notify.mail import MailRefused, MailServer, make_mail, refuse_unforeseen

AT_ONCE = 20
BACK_OFF = (10, 30, 60, 300, 900, 1800)
"""The seconds until the next attempt after each failed one; the last value is repeated."""
CONFIRMATION = """\
Somebody gave this address for the account {user.name} at Rookery. If that was you, open

{link}

within seven days. If it was not you, ignore this mail.
"""
RESET = """\
Somebody asked for a new password for your account {user.name} at Rookery. If that was you, open

{link}

within an hour; the link works once. If it was not you, ignore this mail: your password stays
as it was.
"""


@dataclass(frozen=True, slots=True)
class LinkMailForm:
    """The text of mail for a purpose, and where its link leads."""

    subject: str
    text: str
    path: str


FORMS = {
    LinkPurpose.CONFIRM: LinkMailForm("Confirm your e-mail address", CONFIRMATION, "/confirm"),
    LinkPurpose.RESET: LinkMailForm("Reset your password", RESET, "/login/new-password"),
}


@dataclass(frozen=True, slots=True)
class WantedLinkMail:
    """Mail that somebody asked for and that has not been sent yet."""

    purpose: LinkPurpose
    user_name: str
    asked: datetime
    attempts: int

    def is_late(self, now: datetime) -> bool:
        """Whether the mail is no longer useful, because it has waited as long as a link is
        valid."""
        return now - self.asked > min(LASTING[self.purpose], timedelta(days=1))


class LinkMailRows(Table):
    """The rows of mail that waits: one for each purpose and user."""

    async def put(self, purpose: LinkPurpose, user: str, now: datetime) -> None:
        """Request mail; a request that already waits becomes due at once."""
        await self._write("letters_put", purpose.value, user, now)

    async def list_due(self, now: datetime, most: int) -> tuple[WantedLinkMail, ...]:
        return await self._many(_decode_wanted, "letters_due", now, most)

    async def end(self, wanted: WantedLinkMail) -> None:
        """Remove a request, unless it was repeated since."""
        await self._write("letters_end", wanted.purpose.value, wanted.user_name, wanted.asked)

    async def retry(self, wanted: WantedLinkMail, error: str, until: datetime) -> None:
        row = (wanted.purpose.value, wanted.user_name, wanted.asked)
        await self._write("letters_retry", *row, clean(error), until)


def _decode_wanted(purpose: str, user_name: str, asked: datetime, attempts: int) -> WantedLinkMail:
    return WantedLinkMail(LinkPurpose(purpose), user_name, asked, attempts)


class LinkMails:
    """Adds requests for mail to the table, and sends those that wait there."""

    def __init__(
        self,
        server: MailServer,
        links: LinkSigner,
        address: str,
        rows: LinkMailRows,
        users: Users,
        process: Process,
    ) -> None:
        """`address` is the site's address, for its links."""
        self.server = server
        self.links = links
        self._address = address
        self._rows = rows
        self._users = users
        self.threads, self.clock, self.log = process.threads, process.clock, process.log

    async def post_confirmation(self, user: User) -> None:
        """Request mail that asks a user to confirm an address, if mail is configured."""
        await self._post(LinkPurpose.CONFIRM, user)

    async def post_reset(self, user: User) -> None:
        """Request mail with a link to a new password."""
        await self._post(LinkPurpose.RESET, user)

    async def _post(self, purpose: LinkPurpose, user: User) -> None:
        if self.server.is_set_up and user.email:
            await self._rows.put(purpose, user.name, self.clock.now())

    @runs(Domain.THREAD, "mail is handed in by SMTP in io threads")
    async def flush(self) -> None:
        """Send due mail; refused mail is tried again after increasing pauses. The round ends at the
        first mail that the server does not take: a slow server may keep each of them waiting for
        its whole time limit, and webhooks wait meanwhile."""
        if not self.server.is_set_up:
            return
        for wanted in await self._rows.list_due(self.clock.now(), AT_ONCE):
            user = await self._users.by_name(wanted.user_name)
            if user is None or not user.email or wanted.is_late(self.clock.now()):
                await self._rows.end(wanted)
                continue
            try:
                await self._send(wanted, user)
            except MailRefused as refused:
                await self._take_refusal(wanted, refused)
                if not refused.for_good:
                    return
            except Exception as error:  # noqa: BLE001 - what no code foresaw must not hold up others
                await self._take_refusal(wanted, refuse_unforeseen(error))
            else:
                await self._rows.end(wanted)

    async def _send(self, wanted: WantedLinkMail, user: User) -> None:
        form, token = FORMS[wanted.purpose], self.links.make(wanted.purpose, user)
        text = form.text.format(user=user, link=f"{self._address}{form.path}?token={token}")
        made = make_mail(self.server, self.clock, user.email, form.subject, text)
        await self.threads.io(self.server.send, made)

    async def _take_refusal(self, wanted: WantedLinkMail, refused: MailRefused) -> None:
        self.log.warning(
            "letter_not_sent",
            purpose=wanted.purpose.value,
            user=wanted.user_name,
            why=str(refused),
            attempts=wanted.attempts + 1,
            for_good=refused.for_good,
        )
        if refused.for_good:
            await self._rows.end(wanted)
            return
        pause = BACK_OFF[min(wanted.attempts, len(BACK_OFF) - 1)]
        until = self.clock.now() + timedelta(seconds=pause)
        await self._rows.retry(wanted, str(refused), until)
