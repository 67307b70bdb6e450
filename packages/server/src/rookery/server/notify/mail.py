"""Mail by SMTP: makes mail, and hands it to the operator's mail server."""

import smtplib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from email.headerregistry import Address, BaseHeader, HeaderRegistry, UnstructuredHeader
from email.message import EmailMessage
from email.policy import Policy, default
from email.utils import format_datetime, getaddresses, parseaddr

from rookery.core.clock import Clock
from rookery.core.errors import Complaint
from rookery.server.db.pool import clean
from rookery.server.settings import Settings

SMTP_SECONDS = 20.0
PERMANENT = 500
"""The SMTP codes from which on an answer is permanent."""
LONGEST_SUBJECT = 150


class MailRefused(Complaint):
    """The mail server did not take a mail. `for_good` where no further attempt can help."""

    def __init__(self, text: str, *, for_good: bool = False) -> None:
        super().__init__(text)
        self.for_good = for_good


@dataclass(frozen=True, slots=True)
class MailServer:
    """The operator's mail server. Without a host or a sender, no mail is sent."""

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

    def send(self, mail: EmailMessage) -> None:
        """Hand mail to the server. Blocks, for a limited time; raise MailRefused."""
        try:
            with self._connect() as connection:
                if self.tls == "starttls":
                    connection.starttls(context=ssl.create_default_context())
                if self.user:
                    connection.login(self.user, self.password)
                connection.send_message(mail)
        except (OSError, smtplib.SMTPException) as error:
            raise MailRefused(describe_refusal(error), for_good=is_for_good(error)) from error

    def _connect(self) -> smtplib.SMTP:
        if self.tls == "tls":
            trust = ssl.create_default_context()
            return smtplib.SMTP_SSL(self.host, self.port, timeout=SMTP_SECONDS, context=trust)
        return smtplib.SMTP(self.host, self.port, timeout=SMTP_SECONDS)


def refuse_unforeseen(error: Exception) -> MailRefused:
    """Return the refusal for an unexpected error, which would occur again."""
    return MailRefused(f"it can't be sent: {type(error).__name__}", for_good=True)


def describe_refusal(error: Exception) -> str:
    """Why mail was not accepted, in a few words without addresses."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        codes = {code for code, _ in error.recipients.values()}
        return f"the mail server refuses the address ({', '.join(map(str, sorted(codes)))})"
    if isinstance(error, smtplib.SMTPResponseException):
        return f"the mail server answers {error.smtp_code}"
    if isinstance(error, TimeoutError) or isinstance(error.__context__, TimeoutError):
        return "the mail server takes too long"
    return f"the mail server can't be reached: {type(error).__name__}"


def is_for_good(error: Exception) -> bool:
    """Whether the recipient is refused permanently. Other answers, such as to a wrong password,
    concern this server and may be corrected."""
    if not isinstance(error, smtplib.SMTPRecipientsRefused):
        return False
    return all(code >= PERMANENT for code, _ in error.recipients.values())


class UnfoldedHeader(UnstructuredHeader, BaseHeader):
    """A header that mail programs read letter by letter. The library would break a long address
    into encoded words, which they don't take for an address."""

    def fold(self, *, policy: Policy) -> str:
        return f"{self.name}: {self}{policy.linesep}"


HEADERS = HeaderRegistry()
for unfolded in ("list-unsubscribe", "message-id"):
    HEADERS.map_to_type(unfolded, UnfoldedHeader)
POLICY = default.clone(header_factory=HEADERS)


def make_mail(
    server: MailServer,
    clock: Clock,
    to: str,
    subject: str,
    text: str,
    more: Mapping[str, str] | None = None,
) -> EmailMessage:
    """Make mail in plain text; text from strangers can't add a header or a second recipient. Raise
    a permanent MailRefused if the address is not that of exactly one recipient, or if the mail
    can't be encoded."""
    mail = EmailMessage(POLICY)
    mail["From"] = server.sender
    local, _, domain = to.rpartition("@")
    mail["To"] = _read_recipient(local, domain)
    mail["Subject"] = _defuse(to_line(subject))[:LONGEST_SUBJECT]
    mail["Date"] = format_datetime(clock.now())
    mail["Auto-Submitted"] = "auto-generated"
    for name, value in (more or {}).items():
        mail[name] = value
    mail.set_content(clean(text))
    try:
        mail.as_bytes(policy=mail.policy.clone(linesep="\r\n"))
    except Exception as error:
        raise refuse_unforeseen(error) from error
    return mail


def _defuse(line: str) -> str:
    """Return a line without encoded words, which the library would decode, and some of which it
    can't encode again."""
    return line.replace("=?", "= ?")


def _read_recipient(local: str, domain: str) -> Address:
    """Return the recipient; raise MailRefused unless mail programs read it as exactly one
    address."""
    try:
        address = Address(username=local, domain=domain)
        mail = EmailMessage()
        mail["To"] = address
        found = [each for _, each in getaddresses([mail["To"]])]
    except Exception as error:  # the library's own parser fails on some addresses in many ways
        raise refuse_unforeseen(error) from error
    if found != [address.addr_spec]:
        raise MailRefused("this isn't the address of one recipient", for_good=True)
    return address


def to_line(text: str) -> str:
    """Return a text as one line of printable characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def sender_domain(server: MailServer) -> str:
    """Return the domain at the end of message ids."""
    return parseaddr(server.sender)[1].rpartition("@")[2] or "localhost"
