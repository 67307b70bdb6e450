"""Engines: built in, stored, removed; who may write them and when."""

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from rookery.core.faults import NotApprover
from rookery.core.run import Run
from rookery.protocol.engine_record import EngineRecord, NetRecord, PresetRecord, SpeedRecord
from rookery.protocol.faults import BadField
from rookery.service.engines import EngineInUse, Engines, UnknownEngine
from rookery.storage.engines import MemoryEngines
from tests.unit.core.makers import BOSS, OWNER, make_plan, make_run
from tests.unit.web.fakes import HandClock

pytestmark = pytest.mark.anyio

ETHEREAL = EngineRecord(name="Ethereal", speed=SpeedRecord(reference=1e6))


def playing(*runs: Run) -> Callable[[], Awaitable[tuple[Run, ...]]]:
    async def active() -> tuple[Run, ...]:
        return runs

    return active


def make_engines(*runs: Run, rows: MemoryEngines | None = None) -> Engines:
    return Engines(rows or MemoryEngines(), HandClock(), playing(*runs))


async def test_some_engines_are_built_in() -> None:
    engines = make_engines()
    names = [record.name for record in await engines.list()]
    assert names == ["Fledgling", "Stockfish", "uploaded"]
    assert engines.catalogue.record("Stockfish").speed.reference == 628_000


async def test_a_stored_record_takes_the_place_of_a_built_in_one_until_it_is_removed() -> None:
    engines = make_engines()
    assert engines.told("Stockfish") is None
    own = EngineRecord(name="Stockfish", speed=SpeedRecord(reference=1.0))
    assert not await engines.put(own, BOSS)
    assert engines.catalogue.record("Stockfish").speed.reference == 1.0
    assert engines.told("Stockfish") == own
    await engines.remove("Stockfish", BOSS)
    assert engines.catalogue.record("Stockfish").speed.reference == 628_000


async def test_another_process_finds_what_was_written() -> None:
    rows = MemoryEngines()
    assert await make_engines(rows=rows).put(ETHEREAL, BOSS)
    other = make_engines(rows=rows)
    await other.load()
    assert await other.by_name("Ethereal") == ETHEREAL


async def test_a_removed_engine_is_unknown_but_its_old_runs_can_be_played_on() -> None:
    engines = make_engines()
    await engines.put(ETHEREAL, BOSS)
    await engines.remove("Ethereal", BOSS)
    with pytest.raises(UnknownEngine):
        await engines.by_name("Ethereal")
    with pytest.raises(UnknownEngine):
        await engines.remove("Ethereal", BOSS)
    assert "Ethereal" not in engines.catalogue.engines
    assert engines.told("Ethereal") == ETHEREAL


async def test_only_approvers_write_engines_that_belong_to_nobody() -> None:
    engines = make_engines()
    with pytest.raises(NotApprover):
        await engines.put(ETHEREAL, OWNER)
    await engines.put(ETHEREAL, BOSS)
    with pytest.raises(NotApprover):
        await engines.remove("Ethereal", OWNER)


async def test_an_engine_at_play_keeps_its_privacy_and_stays() -> None:
    engines = make_engines(make_run(plan=make_plan(engine="Ethereal")))
    await engines.put(ETHEREAL, BOSS)
    with pytest.raises(EngineInUse):
        await engines.remove("Ethereal", BOSS)
    with pytest.raises(EngineInUse):
        await engines.put(msgspec.structs.replace(ETHEREAL, private=True), BOSS)


async def test_workers_are_not_told_the_presets() -> None:
    engines = make_engines()
    preset = PresetRecord("STC", {"tc": "10+0.1"})
    await engines.put(msgspec.structs.replace(ETHEREAL, presets=(preset,)), BOSS)
    assert engines.told("Ethereal") == ETHEREAL
    assert engines.told("Ethereal") is engines.told("Ethereal")


async def test_a_pattern_that_could_run_away_is_refused() -> None:
    record = msgspec.structs.replace(ETHEREAL, nets=NetRecord(pattern="(a+)+b"))
    with pytest.raises(BadField, match=r"nets\.pattern"):
        await make_engines().put(record, BOSS)
