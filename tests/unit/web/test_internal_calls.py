"""The header by which one instance tells another for whom it asks."""

from rookery.web.internal_calls import SECONDS_OFF, ForwardedCall, InternalKey
from tests.fakes import HandClock

CALL = ForwardedCall("w1-7", "192.0.2.7", secure=True, key="abc", repeated=True)
WHERE = ("POST", b"/api/beat?x=1", b"farm.example.org")


def test_what_was_signed_is_read_again() -> None:
    key = InternalKey(b"secret", HandClock())
    assert key.verify(*WHERE, key.sign(*WHERE, CALL)) == CALL
    bare = ForwardedCall("w1-8", "", secure=False)
    assert key.verify(*WHERE, key.sign(*WHERE, bare)) == bare


def test_it_counts_for_one_method_target_and_host() -> None:
    key = InternalKey(b"secret", HandClock())
    value = key.sign(*WHERE, CALL)
    assert key.verify("PUT", *WHERE[1:], value) is None
    assert key.verify("POST", b"/api/beat", b"farm.example.org", value) is None
    assert key.verify("POST", b"/api/beat?x=1", b"other.example.org", value) is None


def test_another_key_s_or_a_changed_header_means_nothing() -> None:
    clock = HandClock()
    key, other = InternalKey(b"secret", clock), InternalKey(b"another", clock)
    value = key.sign(*WHERE, CALL)
    assert other.verify(*WHERE, value) is None
    assert key.verify(*WHERE, value.replace(b"192.0.2.7", b"192.0.2.8")) is None
    for junk in (b"", b" ", b"\xff\xfe", b"a b c d e f g", value[:-1], value + b" "):
        assert key.verify(*WHERE, junk) is None


def test_it_ends_with_time() -> None:
    clock = HandClock()
    key = InternalKey(b"secret", clock)
    value = key.sign(*WHERE, CALL)
    clock.move(seconds=SECONDS_OFF - 1)
    assert key.verify(*WHERE, value) == CALL
    clock.move(seconds=2)
    assert key.verify(*WHERE, value) is None
