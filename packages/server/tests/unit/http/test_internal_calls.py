"""The header by which one instance tells another for whom it asks."""

import pytest

from rookery.server.http.internal_calls import (
    FORM,
    FORM_SECONDS,
    NO_CREDENTIALS,
    SECONDS_OFF,
    ForwardedCall,
    InternalKey,
    SignedRequest,
    digest_body,
    digest_credentials,
)
from tests.fakes import HandClock, RecordedLog

BODY = b'{"games": 7}'
CALL = ForwardedCall("w1-7", "192.0.2.7", True, "abc", True, digest_body(BODY))
SHOWN = [(b"host", b"farm.example.org"), (b"authorization", b"Bearer rk_1"), (b"cookie", b"a=1")]
WHERE = SignedRequest("POST", b"/api/beat?x=1", b"farm.example.org", digest_credentials(SHOWN))


def make_key(secret: bytes = b"secret", clock: HandClock | None = None) -> InternalKey:
    """Of an instance among others of this version."""
    key = InternalKey(secret, clock or HandClock())
    key.note_form(FORM)
    return key


def test_what_was_signed_is_read_again() -> None:
    key = make_key()
    assert key.verify(WHERE, key.sign(WHERE, CALL, BODY)) == CALL
    bare = ForwardedCall("w1-8", "", secure=False, body_digest=digest_body(b""))
    assert key.verify(WHERE, key.sign(WHERE, bare, b"")) == bare


def test_it_counts_for_one_method_target_and_host() -> None:
    key = make_key()
    value = key.sign(WHERE, CALL, BODY)
    assert key.verify(WHERE._replace(method="PUT"), value) is None
    assert key.verify(WHERE._replace(target=b"/api/beat"), value) is None
    assert key.verify(WHERE._replace(host=b"other.example.org"), value) is None


def test_it_counts_for_one_body() -> None:
    key = make_key()
    found = key.verify(WHERE, key.sign(WHERE, CALL, BODY))
    assert found is not None
    assert found.has_body(digest_body(BODY))
    assert not found.has_body(digest_body(b'{"games": 8}'))


@pytest.mark.parametrize(
    "shown",
    [
        [],
        [(b"authorization", b"Bearer rk_2"), (b"cookie", b"a=1")],
        [(b"authorization", b"Bearer rk_1"), (b"cookie", b"a=2")],
        [(b"authorization", b"Bearer rk_1")],
        [*SHOWN, (b"cookie", b"b=2")],
    ],
)
def test_it_counts_for_one_token_and_its_cookies(shown: list[tuple[bytes, bytes]]) -> None:
    key = make_key()
    value = key.sign(WHERE, CALL, BODY)
    assert key.verify(WHERE._replace(credentials=digest_credentials(shown)), value) is None


def test_the_order_of_other_headers_does_not_matter() -> None:
    assert digest_credentials(reversed(SHOWN)) == digest_credentials(SHOWN)
    assert digest_credentials([(b"host", b"a")]) == NO_CREDENTIALS


def test_another_key_s_or_a_changed_header_means_nothing() -> None:
    key, other = make_key(), make_key(b"another")
    value = key.sign(WHERE, CALL, BODY)
    assert other.verify(WHERE, value) is None
    assert key.verify(WHERE, value.replace(b"192.0.2.7", b"192.0.2.8")) is None
    assert key.verify(WHERE, value.replace(CALL.body_digest.encode(), b"0" * 32)) is None
    for junk in (b"", b" ", b"\xff\xfe", b"a b c d e f g", value[:-1], value + b" "):
        assert key.verify(WHERE, junk) is None


@pytest.mark.parametrize("seconds", [SECONDS_OFF + 1, -SECONDS_OFF - 1])
def test_one_of_another_time_is_known_and_told_once(seconds: int) -> None:
    clock, log = HandClock(), RecordedLog()
    key = InternalKey(b"secret", clock, log)
    key.note_form(FORM)
    value = key.sign(WHERE, CALL, BODY)
    sent = clock.now()
    clock.move(seconds=seconds)
    for _ in range(2):
        assert key.verify(WHERE, value) == CALL._replace(seconds_late=seconds)
    assert log.events() == ["forwarded_call_too_old"]
    told = log.fields("forwarded_call_too_old")
    assert (told["sent"], told["our_clock"]) == (sent.isoformat(), clock.now().isoformat())


def test_one_of_nearly_our_time_counts() -> None:
    clock = HandClock()
    key = make_key(clock=clock)
    value = key.sign(WHERE, CALL, BODY)
    clock.move(seconds=SECONDS_OFF - 1)
    assert key.verify(WHERE, value) == CALL


EARLIER = {1: CALL._replace(body_digest=""), 2: CALL}
"""What is known of a call by the form in which it came."""


def older_key(form: int, clock: HandClock) -> InternalKey:
    """Of an instance whose newest form is an earlier one: it sends no other."""
    key = make_key(clock=clock)
    key.note_form(form)
    return key


@pytest.mark.parametrize("form", EARLIER)
def test_beside_an_older_instance_the_form_that_it_reads_is_sent_and_read(form: int) -> None:
    clock = HandClock()
    older, key = older_key(form, clock), make_key(clock=clock)
    key.note_form(form)
    anybody = WHERE._replace(credentials=NO_CREDENTIALS)
    assert key.verify(anybody, older.sign(WHERE, CALL, BODY)) == EARLIER[form]
    assert older.verify(anybody, key.sign(WHERE, CALL, BODY)) == EARLIER[form]


@pytest.mark.parametrize("form", EARLIER)
def test_an_older_form_means_nothing_soon_after_the_last_older_instance(form: int) -> None:
    clock = HandClock()
    older, key = older_key(form, clock), make_key(clock=clock)
    clock.move(seconds=FORM_SECONDS)
    key.note_form(form)
    clock.move(seconds=FORM_SECONDS - 1)
    key.note_form(FORM)
    assert key.verify(WHERE, older.sign(WHERE, CALL, BODY))
    clock.move(seconds=2)
    key.note_form(FORM)
    assert key.verify(WHERE, older.sign(WHERE, CALL, BODY)) is None


def test_nothing_older_than_the_oldest_instance_reads_is_accepted() -> None:
    clock = HandClock()
    older, key = older_key(1, clock), make_key(clock=clock)
    clock.move(seconds=FORM_SECONDS)
    key.note_form(2)
    assert key.verify(WHERE, older.sign(WHERE, CALL, BODY)) is None


def test_the_clock_of_who_refuses_is_told_once() -> None:
    clock, log = HandClock(), RecordedLog()
    key = InternalKey(b"secret", clock, log)
    key.note_refusal("http://a:1", b"")
    for _ in range(2):
        key.note_refusal("http://a:1", b"2030-01-01T00:00:00+00:00")
    assert log.events() == ["clocks_apart"]
    told = log.fields("clocks_apart")
    assert told["their_clock"] == "2030-01-01T00:00:00+00:00"
    assert told["our_clock"] == clock.now().isoformat()
