"""How the settings of mail reach the mail server."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from email.message import EmailMessage

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, LoginPassword

from rookery.server.notify.mail import MailRefused, MailServer
from rookery.server.settings import Settings
from tests.engines.git_server import CERTIFICATE
from tests.ports import kept_port
from tests.receivers import MailBox

# The mail server's library logs on its own loop.
pytestmark = pytest.mark.usefixtures("may_block_the_loop")


class GuardedBox(MailBox):
    """A mail server that takes mail of one user alone."""

    def __call__(self, *names: object) -> AuthResult:
        shown = names[-1]
        assert isinstance(shown, LoginPassword)
        is_known = (shown.login, shown.password) == (b"rookery", b"5ecret")
        return AuthResult(success=is_known, handled=False)


@contextmanager
def open_guarded_box(tls: str = "starttls") -> Iterator[GuardedBox]:
    """Asks for a password after STARTTLS alone, which is where the library can."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    begins, upgrades = (context, None) if tls == "tls" else (None, context)

    class Guarded(Controller):
        def factory(self) -> SMTP:
            return SMTP(
                self.handler,
                authenticator=box,
                auth_required=upgrades is not None,
                tls_context=upgrades,
                require_starttls=upgrades is not None,
            )

    with kept_port() as port:
        box = GuardedBox(port)
        controller = Guarded(box, hostname="127.0.0.1", port=port, ssl_context=begins)
        controller.start()
        try:
            yield box
        finally:
            controller.stop()


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))


def send(box: GuardedBox, **changes: str) -> None:
    settings = Settings(
        smtp_host="127.0.0.1",
        smtp_port=box.port,
        smtp_user="rookery",
        smtp_password="5ecret",
        mail_from="r@example.org",
    )
    server = MailServer.of_settings(replace(settings, **changes))  # type: ignore[arg-type]
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = server.sender, "olga@example.org", "News"
    server.send(mail)


def test_mail_goes_over_a_connection_that_is_encrypted_from_its_first_byte() -> None:
    with open_guarded_box("tls") as box:
        send(box, smtp_tls="tls", smtp_user="")
        assert [letter["From"] for letter in box.letters] == ["r@example.org"]


@pytest.mark.parametrize(("tls", "letters"), [("starttls", 1), ("none", 0), ("tls", 0)])
def test_mail_goes_over_a_connection_that_is_encrypted_as_the_settings_say(
    tls: str, letters: int
) -> None:
    with open_guarded_box() as box:
        with suppress(MailRefused):
            send(box, smtp_tls=tls)
        assert len(box.letters) == letters


@pytest.mark.parametrize("wrong", [{"smtp_user": "nobody"}, {"smtp_password": "guessed"}])
def test_the_mail_server_is_told_the_user_and_the_password_of_the_settings(
    wrong: dict[str, str],
) -> None:
    with open_guarded_box() as box:
        send(box)
        with pytest.raises(MailRefused, match="answers 535"):
            send(box, **wrong)
        assert len(box.letters) == 1
