"""Garbage that the usual collections no longer examine is collected when the process has grown."""

import gc
import weakref

import pytest

from rookery.core.boundary.offload import Threads
from rookery.server.app.memory import GROWN_BYTES, GROWN_PART, GrownMemory, own_bytes
from tests.fakes import RecordedLog

pytestmark = pytest.mark.anyio


class Knot:
    """An object that keeps itself."""

    def __init__(self) -> None:
        self.itself = self


def old_garbage() -> "weakref.ref[Knot]":
    """Garbage of an age at which it is hardly ever looked for."""
    knot = Knot()
    gc.collect()
    return weakref.ref(knot)


async def test_much_growth_ends_old_garbage() -> None:
    used = iter([0, 10, GROWN_BYTES, GROWN_BYTES // 2])
    log = RecordedLog()
    job = GrownMemory(Threads(), log, lambda: next(used))
    await job()
    garbage = old_garbage()
    await job()
    gc.collect(1)
    assert garbage() is not None
    await job()
    assert garbage() is None
    assert log.fields("garbage_collected")["after"] == GROWN_BYTES // 2


async def test_garbage_that_was_in_use_at_one_collection_ends_with_the_next() -> None:
    used = iter([0, GROWN_BYTES, GROWN_BYTES, 2 * GROWN_BYTES, 2 * GROWN_BYTES])
    job = GrownMemory(Threads(), RecordedLog(), lambda: next(used))
    await job()
    knot = Knot()
    garbage = weakref.ref(knot)
    await job()
    del knot
    assert garbage() is not None
    await job()
    assert garbage() is None


async def test_the_growth_counts_from_the_last_collection() -> None:
    used = iter([0, GROWN_BYTES, GROWN_BYTES, 2 * GROWN_BYTES - 1, 2 * GROWN_BYTES, 0])
    log = RecordedLog()
    job = GrownMemory(Threads(), log, lambda: next(used))
    for _ in range(4):
        await job()
    assert [fields["before"] for _, fields in log.lines] == [GROWN_BYTES, 2 * GROWN_BYTES]


async def test_a_large_process_may_grow_by_more() -> None:
    large = 100 * GROWN_BYTES
    used = iter([large, large + large // GROWN_PART - 1, large + large // GROWN_PART, large])
    log = RecordedLog()
    job = GrownMemory(Threads(), log, lambda: next(used))
    for _ in range(3):
        await job()
    assert [fields["before"] for _, fields in log.lines] == [large + large // GROWN_PART]


def test_memory_that_is_written_is_counted() -> None:
    before = own_bytes()
    written = bytearray(b"x" * 50_000_000)
    assert own_bytes() - before > 45_000_000
    del written
