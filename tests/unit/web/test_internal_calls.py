"""The header by which one instance tells another for whom it asks."""

from rookery.web.internal_calls import (
    FIRST_FORM_SECONDS,
    FORM,
    SECONDS_OFF,
    ForwardedCall,
    InternalKey,
    digest_body,
)
from tests.fakes import HandClock, RecordedLog

BODY = b'{"games": 7}'
CALL = ForwardedCall("w1-7", "192.0.2.7", True, "abc", True, digest_body(BODY))
WHERE = ("POST", b"/api/beat?x=1", b"farm.example.org")


def make_key(secret: bytes = b"secret", clock: HandClock | None = None) -> InternalKey:
    """Of an instance among others of this version."""
    key = InternalKey(secret, clock or HandClock())
    key.note_form(FORM)
    return key


def test_what_was_signed_is_read_again() -> None:
    key = make_key()
    assert key.verify(*WHERE, key.sign(*WHERE, CALL, BODY)) == CALL
    bare = ForwardedCall("w1-8", "", secure=False, body_digest=digest_body(b""))
    assert key.verify(*WHERE, key.sign(*WHERE, bare, b"")) == bare


def test_it_counts_for_one_method_target_and_host() -> None:
    key = make_key()
    value = key.sign(*WHERE, CALL, BODY)
    assert key.verify("PUT", *WHERE[1:], value) is None
    assert key.verify("POST", b"/api/beat", b"farm.example.org", value) is None
    assert key.verify("POST", b"/api/beat?x=1", b"other.example.org", value) is None


def test_it_counts_for_one_body() -> None:
    key = make_key()
    found = key.verify(*WHERE, key.sign(*WHERE, CALL, BODY))
    assert found is not None
    assert found.has_body(digest_body(BODY))
    assert not found.has_body(digest_body(b'{"games": 8}'))


def test_another_key_s_or_a_changed_header_means_nothing() -> None:
    key, other = make_key(), make_key(b"another")
    value = key.sign(*WHERE, CALL, BODY)
    assert other.verify(*WHERE, value) is None
    assert key.verify(*WHERE, value.replace(b"192.0.2.7", b"192.0.2.8")) is None
    assert key.verify(*WHERE, value.replace(CALL.body_digest.encode(), b"0" * 32)) is None
    for junk in (b"", b" ", b"\xff\xfe", b"a b c d e f g", value[:-1], value + b" "):
        assert key.verify(*WHERE, junk) is None


def test_it_ends_with_time() -> None:
    clock, log = HandClock(), RecordedLog()
    key = InternalKey(b"secret", clock, log)
    key.note_form(FORM)
    value = key.sign(*WHERE, CALL, BODY)
    clock.move(seconds=SECONDS_OFF - 1)
    assert key.verify(*WHERE, value) == CALL
    clock.move(seconds=2)
    for _ in range(2):
        assert key.verify(*WHERE, value) is None
    assert log.events() == ["forwarded_call_too_old"]


def test_beside_an_older_instance_the_form_that_it_reads_is_sent_and_read() -> None:
    clock = HandClock()
    older, key = InternalKey(b"secret", clock), make_key(clock=clock)
    key.note_form(1)
    first_form = CALL._replace(body_digest="")
    assert key.verify(*WHERE, older.sign(*WHERE, CALL, BODY)) == first_form
    assert older.verify(*WHERE, key.sign(*WHERE, CALL, BODY)) == first_form


def test_the_older_form_means_nothing_soon_after_the_last_older_instance() -> None:
    clock = HandClock()
    older, key = InternalKey(b"secret", clock), make_key(clock=clock)
    key.note_form(1)
    clock.move(seconds=FIRST_FORM_SECONDS - 1)
    key.note_form(FORM)
    assert key.verify(*WHERE, older.sign(*WHERE, CALL, BODY))
    clock.move(seconds=2)
    key.note_form(FORM)
    assert key.verify(*WHERE, older.sign(*WHERE, CALL, BODY)) is None
