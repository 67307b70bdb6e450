"""Storage that fails is left alone until a probe has written to it."""

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.disk import StorageAway
from rookery.server.files.blobs import DoubtfulCall
from rookery.server.files.storage_health import StorageHealth
from tests.fakes import HandClock, RecordedLog


class Storage:
    """Storage as its probe sees it."""

    def __init__(self) -> None:
        self.reason = ""
        self.asked: list[bool] = []
        self.clock, self.log = HandClock(), RecordedLog()
        self.health = StorageHealth("s3://x", Threads(), self.clock, self.log, probe=self.probe)

    def probe(self, writes: bool) -> None:
        self.asked.append(writes)
        if self.reason:
            raise StorageAway(self.reason)

    def fail(self, reason: str = "it does not answer") -> None:
        self.reason = reason
        with pytest.raises(StorageAway), self.health.watch("put"):
            raise StorageAway(reason)


def test_after_a_failure_nobody_else_waits() -> None:
    storage = Storage()
    storage.fail()
    with pytest.raises(StorageAway, match="it does not answer"), storage.health.watch("get"):
        pytest.fail("the storage was asked")
    stats = storage.health.stats()
    assert (stats.is_away, stats.calls, stats.failures) == (True, {"put": 1}, {"put": 1})


def test_a_probe_that_writes_brings_it_back() -> None:
    storage = Storage()
    storage.fail()
    storage.health.probe_now()
    assert storage.health.stats().is_away
    storage.reason = ""
    storage.health.probe_now()
    with storage.health.watch("put"):
        pass
    storage.health.probe_now()
    assert storage.asked == [True, True, False]
    assert storage.log.events() == ["storage_away", "storage_back"]


def test_a_probe_notices_before_anybody_else_does() -> None:
    storage = Storage()
    storage.reason = "it is gone"
    storage.health.probe_now()
    storage.clock.move(minutes=3)
    assert "away for 3 min (it is gone)" in storage.health.describe_trouble()


def test_storage_that_is_there_has_nothing_to_tell() -> None:
    assert Storage().health.describe_trouble() == ""


def test_a_missing_blob_is_no_failure() -> None:
    storage = Storage()
    with pytest.raises(KeyError), storage.health.watch("get"):
        raise KeyError
    assert not storage.health.stats().is_away


def test_a_call_that_failed_of_itself_leaves_the_storage_to_others() -> None:
    storage = Storage()
    with pytest.raises(StorageAway), storage.health.watch("put"):
        raise DoubtfulCall("it does not answer in time")
    stats = storage.health.stats()
    assert (stats.is_away, stats.failures, storage.asked) == (False, {"put": 1}, [True])
    assert storage.log.events() == ["storage_call_failed"]


def test_where_the_probe_after_a_doubtful_call_fails_the_storage_is_away() -> None:
    storage = Storage()
    storage.reason = "it is gone"
    with pytest.raises(DoubtfulCall), storage.health.watch("get"):
        raise DoubtfulCall("it denies access")
    assert "it is gone" in storage.health.describe_trouble()


def test_a_probe_that_may_not_look_writes() -> None:
    """Where a bucket may not be listed, a probe that was never written can't be asked for."""
    storage = Storage()
    asked: list[bool] = []

    def probe(writes: bool) -> None:
        asked.append(writes)
        if not writes:
            raise DoubtfulCall("it denies access")

    health = StorageHealth("s3://x", Threads(), storage.clock, storage.log, probe=probe)
    health.probe_now()
    assert (health.stats().is_away, asked) == (False, [False, True])


def test_the_place_before_a_move_is_probed_along_and_its_troubles_are_told() -> None:
    new, old = Storage(), Storage()
    new.health.include(old.health)
    old.fail("the old one is gone")
    new.health.probe_now()
    assert "the old one is gone" in new.health.describe_trouble()
    old.reason = ""
    new.health.probe_now()
    assert new.health.describe_trouble() == ""
