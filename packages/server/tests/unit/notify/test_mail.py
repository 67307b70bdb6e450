"""Letters: whatever strangers wrote, each goes to one recipient and can be written down."""

from email import message_from_bytes, policy
from email.message import EmailMessage
from smtplib import SMTPServerDisconnected

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rookery.server.identity.sign_up import EMAIL
from rookery.server.notify.mail import MailRefused, MailServer, describe_refusal, make_mail
from tests.fakes import HandClock
from tests.makers import QUICK

SERVER = MailServer("127.0.0.1", sender="Rookery <r@example.org>")
OLGA = "olga@example.org"


def write_letter(to: str = OLGA, subject: str = "a subject", text: str = "a text") -> EmailMessage:
    """A letter as its reader gets it."""
    letter = make_mail(SERVER, HandClock(), to, subject, text)
    raw = letter.as_bytes(policy=letter.policy.clone(linesep="\r\n"))
    found = message_from_bytes(raw, policy=policy.default)
    assert isinstance(found, EmailMessage)
    return found


@QUICK
@given(st.from_regex(EMAIL, fullmatch=True))
@example("x.y@b.c-.example")
@example("'o`neill|{}'@example.org")
def test_an_accepted_address_makes_a_letter_with_that_one_recipient(address: str) -> None:
    assert [each.addr_spec for each in write_letter(address)["To"].addresses] == [address]


@QUICK
@given(st.text(st.characters()), st.text(st.characters()))
@example("ß =?utf-8?q?=E9?=", "a text")
@example("a subject", "\ud800 \0 \x85\r")
@example("=?utf-8?b?" * 30, "=?utf-8?q?=E9?=")
@example("ß" * 149 + "=?utf-8?q?=E9?=", "x" * 2000)
def test_any_subject_and_text_make_a_letter_to_one_recipient(subject: str, text: str) -> None:
    letter = write_letter(subject=subject, text=text)
    assert letter["To"] == OLGA
    assert set(letter.keys()) == set(write_letter().keys())


@pytest.mark.parametrize("name", ["List-Unsubscribe", "Message-ID"])
def test_a_long_address_in_a_head_is_not_encoded(name: str) -> None:
    address = f"<https://tests.example.org/api/v1/unsubscribe?token={'W1Jdn2-_.' * 20}>"
    letter = make_mail(SERVER, HandClock(), OLGA, "a subject", "a text", {name: address})
    raw = letter.as_bytes(policy=letter.policy.clone(linesep="\r\n"))
    assert f"\r\n{name}: {address}\r\n".encode() in raw


def give_up_as_smtplib_does() -> None:
    """At a time limit it ends the connection, and tells of that."""
    try:
        raise TimeoutError
    except OSError:
        raise SMTPServerDisconnected("Connection unexpectedly closed: timed out")  # noqa: B904


def test_a_mail_server_that_says_nothing_takes_too_long() -> None:
    with pytest.raises(SMTPServerDisconnected) as failed:
        give_up_as_smtplib_does()
    assert describe_refusal(failed.value) == "the mail server takes too long"


def test_a_subject_is_shown_as_it_was_written() -> None:
    assert write_letter(subject="ß =?utf-8?q?=E9?=")["Subject"] == "ß = ?utf-8?q?=E9?="


@pytest.mark.parametrize(
    "address",
    [
        "x@[.aa",
        "a@b.com,root.local",
        "a,root@b.com",
        "<a@b.com",
        "a@b.com;c.de",
        "=?utf-8?q?a=40b?=@b.com",
        "ä@b.com",
        "a b@c.de",
        "a@b.com\n",
        "a@-b.com",
        ".a@b.com",
        "a..b@c.de",
        "a.@b.com",
        "a@b..com",
    ],
)
def test_sign_up_refuses_what_is_not_one_plain_address(address: str) -> None:
    assert not EMAIL.fullmatch(address)


@pytest.mark.parametrize("address", ["x@[.aa", "a@b.com,root.local", ""])
def test_an_account_with_a_strange_address_gets_no_letter(address: str) -> None:
    with pytest.raises(MailRefused) as refused:
        write_letter(address)
    assert refused.value.for_good
