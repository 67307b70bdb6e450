"""Engines: built in, stored, removed; who may write them and when."""

from collections.abc import Awaitable, Callable

import msgspec
import pytest

from rookery.core.run import Run
from rookery.protocol.engine_record import (
    BenchRecord,
    EngineRecord,
    NetRecord,
    PresetRecord,
    SpeedRecord,
)
from rookery.protocol.faults import BadField
from rookery.service.engines import EngineInUse, Engines, NotOfTeam, UnknownEngine
from rookery.service.teams import Team, Teams
from rookery.storage.engines import MemoryEngines
from rookery.storage.memory import MemoryUsers
from rookery.storage.teams import MemoryTeams
from tests.unit.core.makers import BOSS, NOW, OWNER, STRANGER, make_plan, make_run
from tests.unit.web.fakes import HandClock

pytestmark = pytest.mark.anyio

ETHEREAL = EngineRecord(name="Ethereal", speed=SpeedRecord(reference=1e6))


def playing(*runs: Run) -> Callable[[], Awaitable[tuple[Run, ...]]]:
    async def active() -> tuple[Run, ...]:
        return runs

    return active


OWLS = Team("owls", frozenset({OWNER.name}), frozenset({OWNER.name}), NOW)
THEIRS = EngineRecord(name="Strix", team="owls", private=True)


async def make_engines(*runs: Run, rows: MemoryEngines | None = None) -> Engines:
    """With a team that olga is in."""
    teams = Teams(MemoryTeams(OWLS), MemoryUsers(), HandClock())
    await teams.load()
    return Engines(rows or MemoryEngines(), teams, HandClock(), playing(*runs))


async def test_some_engines_are_built_in() -> None:
    engines = await make_engines()
    names = [record.name for record in await engines.list()]
    assert names == ["Fledgling", "Stockfish", "uploaded"]
    assert engines.catalogue.record("Stockfish").speed.reference == 628_000


async def test_a_stored_record_takes_the_place_of_a_built_in_one_until_it_is_removed() -> None:
    engines = await make_engines()
    assert engines.told("Stockfish") is None
    own = EngineRecord(name="Stockfish", speed=SpeedRecord(reference=1.0))
    assert not await engines.put(own, BOSS)
    assert engines.catalogue.record("Stockfish").speed.reference == 1.0
    assert engines.told("Stockfish") == own
    await engines.remove("Stockfish", BOSS)
    assert engines.catalogue.record("Stockfish").speed.reference == 628_000


async def test_another_process_finds_what_was_written() -> None:
    rows = MemoryEngines()
    assert await (await make_engines(rows=rows)).put(ETHEREAL, BOSS)
    other = await make_engines(rows=rows)
    await other.load()
    assert await other.by_name("Ethereal") == ETHEREAL


async def test_a_removed_engine_is_unknown_but_its_old_runs_can_be_played_on() -> None:
    engines = await make_engines()
    await engines.put(ETHEREAL, BOSS)
    await engines.remove("Ethereal", BOSS)
    with pytest.raises(UnknownEngine):
        await engines.by_name("Ethereal")
    with pytest.raises(UnknownEngine):
        await engines.remove("Ethereal", BOSS)
    assert "Ethereal" not in engines.catalogue.engines
    assert engines.told("Ethereal") == ETHEREAL


async def test_only_approvers_write_engines_that_belong_to_nobody() -> None:
    engines = await make_engines()
    with pytest.raises(NotOfTeam):
        await engines.put(ETHEREAL, OWNER)
    await engines.put(ETHEREAL, BOSS)
    with pytest.raises(NotOfTeam):
        await engines.remove("Ethereal", OWNER)


async def test_an_engine_at_play_keeps_its_privacy_and_stays() -> None:
    engines = await make_engines(make_run(plan=make_plan(engine="Ethereal")))
    await engines.put(ETHEREAL, BOSS)
    with pytest.raises(EngineInUse):
        await engines.remove("Ethereal", BOSS)
    with pytest.raises(EngineInUse):
        await engines.put(msgspec.structs.replace(ETHEREAL, team="owls", private=True), BOSS)


async def test_workers_are_not_told_the_presets() -> None:
    engines = await make_engines()
    preset = PresetRecord("STC", {"tc": "10+0.1"})
    await engines.put(msgspec.structs.replace(ETHEREAL, presets=(preset,)), BOSS)
    assert engines.told("Ethereal") == ETHEREAL
    assert engines.told("Ethereal") is engines.told("Ethereal")


@pytest.mark.parametrize("pattern", [r"(a)\1", "x(?=y)", "["])
async def test_a_pattern_that_is_not_understood_is_refused(pattern: str) -> None:
    engines, nets, bench = (
        await make_engines(),
        NetRecord(pattern=pattern),
        BenchRecord(pattern=pattern),
    )
    with pytest.raises(BadField, match=r"nets\.pattern: the pattern can't be used"):
        await engines.put(msgspec.structs.replace(ETHEREAL, nets=nets), BOSS)
    with pytest.raises(BadField, match=r"bench\.pattern: the pattern can't be used"):
        await engines.put(msgspec.structs.replace(ETHEREAL, bench=bench), BOSS)


async def test_members_write_the_engines_of_their_team() -> None:
    engines = await make_engines()
    assert await engines.put(THEIRS, OWNER)
    with pytest.raises(NotOfTeam):
        await engines.put(THEIRS, STRANGER)
    with pytest.raises(NotOfTeam):
        await engines.put(msgspec.structs.replace(THEIRS, name="Stockfish"), OWNER)
    with pytest.raises(BadField, match="team"):
        await engines.put(msgspec.structs.replace(ETHEREAL, team="nobody"), BOSS)
    with pytest.raises(BadField, match="private"):
        await engines.put(msgspec.structs.replace(ETHEREAL, private=True), BOSS)


async def test_what_was_approved_is_not_changed_by_members() -> None:
    engines = await make_engines(make_run(plan=make_plan(engine="Strix")))
    with pytest.raises(EngineInUse):
        await engines.put(THEIRS, OWNER)
    assert await engines.put(THEIRS, BOSS)


async def test_the_name_of_a_removed_engine_stays_with_its_team() -> None:
    engines = await make_engines()
    await engines.put(THEIRS, OWNER)
    await engines.remove("Strix", OWNER)
    assert engines.private == {"Strix": "owls"}
    with pytest.raises(NotOfTeam):
        await engines.put(THEIRS, STRANGER)
    await engines.put(msgspec.structs.replace(THEIRS, private=False), OWNER)
    assert engines.private == {}
