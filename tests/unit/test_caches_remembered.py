"""Answers are kept for their time, and never too many."""

from rookery.caches import ExpiringCache
from tests.fakes import HandClock


def test_a_value_is_kept_for_its_time() -> None:
    clock = HandClock()
    kept: ExpiringCache[str, int] = ExpiringCache(clock, most=10)
    kept.put("a", 1, seconds=2)
    clock.move(seconds=1)
    assert kept.get("a") == 1
    clock.move(seconds=1)
    assert kept.get("a") is None


def test_a_value_can_be_forgotten() -> None:
    kept: ExpiringCache[str, int] = ExpiringCache(HandClock(), most=10)
    kept.put("a", 1, seconds=2)
    kept.forget("a")
    kept.forget("never known")
    assert kept.get("a") is None


def test_the_oldest_value_goes_when_there_are_too_many() -> None:
    kept: ExpiringCache[str, int] = ExpiringCache(HandClock(), most=2)
    for name in ("a", "b", "a", "c"):
        kept.put(name, 1, seconds=2)
    assert [name for name in "abc" if kept.get(name)] == ["a", "c"]
