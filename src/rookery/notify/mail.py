"""Mail by SMTP: how a letter is made, and how it is handed to the operator's mail server."""

import smtplib
import ssl
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr

from rookery.boundary.domains import Domain, runs
from rookery.boundary.offload import Threads
from rookery.clock import Clock
from rookery.errors import Complaint
from rookery.logs import Log
from rookery.people.links import LinkPurpose, LinkSigner
from rookery.people.users import User
from rookery.settings import Settings

SMTP_SECONDS = 20.0
MOST_LETTERS = 1000
MOST_ATTEMPTS = 5
AT_ONCE = 20
LONGEST_SUBJECT = 150


class MailRefused(Complaint):
    """The mail server did not take a letter."""


@dataclass(frozen=True, slots=True)
class MailServer:
    """Where letters are handed in. Without a host or a sender there is no mail."""

    host: str = ""
    port: int = 587
    tls: str = "starttls"
    user: str = ""
    password: str = ""
    sender: str = ""

    @classmethod
    def of_settings(cls, settings: Settings) -> "MailServer":
        return cls(
            settings.smtp_host,
            settings.smtp_port,
            settings.smtp_tls,
            settings.smtp_user,
            settings.smtp_password,
            settings.mail_from,
        )

    @property
    def is_set_up(self) -> bool:
        return bool(self.host and self.sender)

    def send(self, letter: EmailMessage) -> None:
        """Hands a letter in. Blocks, for a limited time; raises MailRefused."""
        try:
            with self._connect() as connection:
                if self.tls == "starttls":
                    connection.starttls(context=ssl.create_default_context())
                if self.user:
                    connection.login(self.user, self.password)
                connection.send_message(letter)
        except (OSError, smtplib.SMTPException) as error:
            raise MailRefused(describe_refusal(error)) from error

    def _connect(self) -> smtplib.SMTP:
        if self.tls == "tls":
            trust = ssl.create_default_context()
            return smtplib.SMTP_SSL(self.host, self.port, timeout=SMTP_SECONDS, context=trust)
        return smtplib.SMTP(self.host, self.port, timeout=SMTP_SECONDS)


def describe_refusal(error: Exception) -> str:
    """Why a letter was not taken, in a few words without addresses."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = {code for code, _ in error.recipients.values()}
        return f"the mail server refuses the address ({', '.join(map(str, sorted(codes)))})"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the mail server answers {error.smtp_code}"
    if isinstance(error, TimeoutError):
        return "the mail server takes too long"
    return f"the mail server can't be reached: {type(error).__name__}"


def make_letter(
    server: MailServer,
    clock: Clock,
    to: str,
    subject: str,
    text: str,
    more: Mapping[str, str] | None = None,
) -> EmailMessage:
    """A letter in plain text; what strangers wrote can't add a header or a second recipient."""
    letter = EmailMessage()
    letter["From"] = server.sender
    local, _, domain = to.rpartition("@")
    letter["To"] = Address(username=local, domain=domain)
    letter["Subject"] = to_line(subject)[:LONGEST_SUBJECT]
    letter["Date"] = format_datetime(clock.now())
    letter["Auto-Submitted"] = "auto-generated"
    for name, value in (more or {}).items():
        letter[name] = value
    letter.set_content(text)
    return letter


def to_line(text: str) -> str:
    """A text as one line of printable characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def sender_domain(server: MailServer) -> str:
    """What the ids of letters end with."""
    return parseaddr(server.sender)[1].rpartition("@")[2] or "localhost"


CONFIRMATION = """\
Somebody gave this address for the account {user.name} at Rookery. If that was you, open

{link}

within seven days. If it was not, there is nothing to do.
"""
RESET = """\
Somebody asked for a new password for your account {user.name} at Rookery. If that was you, open

{link}

within an hour; the link works once. If it was not, there is nothing to do: your password stays
as it was.
"""


@dataclass(slots=True)
class _Queued:
    letter: EmailMessage
    attempts: int = 0


class Letters:
    """Letters with links that people asked for. They wait in memory, since a link is a secret; one
    that is lost with the process is asked for again. Only the event loop uses it."""

    def __init__(
        self,
        server: MailServer,
        links: LinkSigner,
        address: str,
        threads: Threads,
        clock: Clock,
        log: Log,
    ) -> None:
        """`address` is that of the site, for its links."""
        self.server = server
        self.links = links
        self._address = address
        self.threads = threads
        self.clock = clock
        self.log = log
        self._waiting: deque[_Queued] = deque(maxlen=MOST_LETTERS)

    def post_confirmation(self, user: User) -> None:
        """Has a user asked whether the address is theirs, where there is mail at all."""
        link = f"{self._address}/confirm?token={self.links.make(LinkPurpose.CONFIRM, user)}"
        self._post(user, "Confirm your e-mail address", CONFIRMATION.format(user=user, link=link))

    def post_reset(self, user: User) -> None:
        """Has a user sent the link to a new password."""
        token = self.links.make(LinkPurpose.RESET, user)
        link = f"{self._address}/login/new-password?token={token}"
        self._post(user, "A new password", RESET.format(user=user, link=link))

    def _post(self, user: User, subject: str, text: str) -> None:
        if self.server.is_set_up and user.email:
            letter = make_letter(self.server, self.clock, user.email, subject, text)
            self._waiting.append(_Queued(letter))

    @runs(Domain.THREAD, "letters are handed in by SMTP in io threads")
    async def flush(self) -> None:
        """Sends what waits; a letter that is not taken is tried again a few times."""
        for _ in range(min(AT_ONCE, len(self._waiting))):
            queued = self._waiting.popleft()
            try:
                await self.threads.io(self.server.send, queued.letter)
            except MailRefused as refused:
                queued.attempts += 1
                self.log.warning("letter_not_sent", why=str(refused), attempts=queued.attempts)
                if queued.attempts < MOST_ATTEMPTS:
                    self._waiting.append(queued)
                return
