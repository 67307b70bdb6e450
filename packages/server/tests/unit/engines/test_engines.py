"""Engines: built in, stored, removed; who may write them and when."""

from collections.abc import Awaitable, Callable

import msgspec
import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.actor import Actor
from rookery.core.model.engine import (
    BenchRecord,
    EngineRecord,
    NetRecord,
    PresetRecord,
    SpeedRecord,
    ToolRecord,
)
from rookery.core.model.run import Run
from rookery.core.protocol.codec import BadField
from rookery.core.protocol.people import Team
from rookery.server.engines.engines import (
    BuiltIn,
    EngineExists,
    EngineInUse,
    Engines,
    NotOfTeam,
    OtherRecords,
    RecordsChanged,
    UnknownEngine,
    UnknownVersion,
    records_digest,
)
from rookery.server.farm.rules.eligibility import choose, engine_loads
from rookery.server.teams.teams import Teams
from tests.fakes import HandClock
from tests.makers import BOSS, NOW, OWNER, ROOKERY, STRANGER, make_machine, make_plan, make_run
from tests.twins.people import MemoryTeams, MemoryUsers, NoAudit
from tests.twins.records import MemoryEngines

pytestmark = pytest.mark.anyio

ETHEREAL = EngineRecord(name="Ethereal", speed=SpeedRecord(reference=1e6))


def playing(*runs: Run) -> Callable[[], Awaitable[tuple[Run, ...]]]:
    async def active() -> tuple[Run, ...]:
        return runs

    return active


OWLS = Team("owls", (OWNER.name,), (OWNER.name,), NOW)
THEIRS = EngineRecord(name="owls~Strix", team="owls", private=True)


async def make_engines(
    *runs: Run, rows: MemoryEngines | None = None, shares: dict[str, float] | None = None
) -> Engines:
    """With a team that olga is in."""
    teams = Teams(MemoryTeams(OWLS), MemoryUsers(), HandClock(), NoAudit())
    await teams.load()
    shares = {} if shares is None else shares
    return Engines(rows or MemoryEngines(), teams, HandClock(), playing(*runs), shares, NoAudit())


async def test_some_engines_are_built_in() -> None:
    engines = await make_engines()
    names = [record.name for record in await engines.list()]
    assert names == ["Fledgling", "Stockfish", "uploaded"]
    assert engines.catalogue.record("Stockfish").speed.reference == 628_000


async def test_a_stored_record_takes_the_place_of_a_built_in_one_until_it_is_removed() -> None:
    engines = await make_engines()
    assert engines.engine_for_worker("Stockfish") is None
    own = EngineRecord(name="Stockfish", speed=SpeedRecord(reference=1.0))
    with pytest.raises(BuiltIn):
        await engines.put(own, BOSS)
    assert not await engines.put(own, BOSS, replacing=True)
    assert engines.catalogue.record("Stockfish").speed.reference == 1.0
    assert engines.engine_for_worker("Stockfish") == own
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
    assert engines.engine_for_worker("Ethereal") == ETHEREAL


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
    assert engines.engine_for_worker("Ethereal") == ETHEREAL
    assert engines.engine_for_worker("Ethereal") is engines.engine_for_worker("Ethereal")


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
        await engines.put(msgspec.structs.replace(THEIRS, name="Stockfish", private=False), OWNER)
    with pytest.raises(BadField, match="team"):
        await engines.put(msgspec.structs.replace(ETHEREAL, team="nobody"), BOSS)
    with pytest.raises(BadField, match="private"):
        await engines.put(msgspec.structs.replace(ETHEREAL, private=True), BOSS)


async def test_what_was_approved_is_not_changed_by_members() -> None:
    engines = await make_engines(make_run(plan=make_plan(engine="Strix")))
    ours = msgspec.structs.replace(THEIRS, name="Strix", private=False)
    with pytest.raises(EngineInUse):
        await engines.put(ours, OWNER)
    assert await engines.put(ours, BOSS)


async def test_the_name_of_a_removed_engine_stays_with_its_team() -> None:
    engines = await make_engines()
    await engines.put(THEIRS, OWNER)
    await engines.remove("owls~Strix", OWNER)
    assert engines.private == {"owls~Strix": "owls"}
    with pytest.raises(NotOfTeam):
        await engines.put(THEIRS, STRANGER)
    await engines.put(msgspec.structs.replace(THEIRS, private=False), OWNER)
    assert engines.private == {}


async def test_a_run_keeps_the_records_it_was_submitted_with() -> None:
    engines = await make_engines()
    await engines.put(ETHEREAL, BOSS)
    run = engines.with_records(make_run(plan=make_plan(engine="Ethereal")))
    other = msgspec.structs.replace(ETHEREAL, source="https://example.org/other")
    await engines.put(other, BOSS)
    new, base = run.plan.sides
    assert engines.record_for_worker(new) == ETHEREAL
    assert engines.record_for_worker(new) is engines.record_for_worker(new)
    assert engines.record_for_worker(with_fields(new, record="")) == other
    assert engines.record_for_worker(base) == ETHEREAL


async def test_an_approver_says_which_records_they_saw_once_those_have_changed() -> None:
    engines = await make_engines()
    await engines.put(ETHEREAL, BOSS)
    run = engines.with_records(make_run(plan=make_plan(engine="Ethereal")))
    engines.check_looked_at(run, "")
    await engines.put(msgspec.structs.replace(ETHEREAL, share=2), BOSS)
    with pytest.raises(RecordsChanged, match="Ethereal"):
        engines.check_looked_at(run, "")
    with pytest.raises(OtherRecords):
        engines.check_looked_at(run, records_digest(engines.with_records(run)))
    engines.check_looked_at(run, records_digest(run))


@pytest.mark.parametrize("share", [1.0, 3.0])
async def test_the_share_of_a_record_is_the_weight_of_its_engine(share: float) -> None:
    shares: dict[str, float] = {}
    engines = await make_engines(shares=shares)
    await engines.put(msgspec.structs.replace(ETHEREAL, share=share), BOSS)
    larger = make_run("a", make_plan(engine="Ethereal"), cores=40)
    runs = (larger, make_run("b", cores=20))
    found = choose(runs, make_machine(rookery=ROOKERY), loads=engine_loads(runs, shares))
    assert (found is larger) == (share > 2)


async def test_what_was_written_can_be_undone() -> None:
    engines = await make_engines()
    other = msgspec.structs.replace(ETHEREAL, share=2)
    for record in (ETHEREAL, other):
        await engines.put(record, BOSS)
    assert await engines.restore("Ethereal", 1, BOSS) == ETHEREAL
    assert await engines.by_name("Ethereal") == ETHEREAL
    assert await engines.restore("Ethereal", 0, BOSS) is None
    found = await engines.versions("Ethereal", None)
    assert [(each.version, each.removed) for each in found] == [
        (1, False), (2, False), (3, False), (4, True),
    ]  # fmt: skip
    assert await engines.restore("Ethereal", 2, BOSS) == other
    with pytest.raises(UnknownVersion):
        await engines.restore("Ethereal", 9, BOSS)


async def test_a_replaced_built_in_record_comes_back() -> None:
    engines = await make_engines()
    built_in = await engines.by_name("Stockfish")
    await engines.put(EngineRecord(name="Stockfish"), BOSS, replacing=True)
    assert await engines.restore("Stockfish", 0, BOSS) == built_in


async def test_what_must_be_new_replaces_nothing() -> None:
    engines = await make_engines()
    assert await engines.put(ETHEREAL, BOSS, replacing=False)
    with pytest.raises(EngineExists):
        await engines.put(ETHEREAL, BOSS, replacing=False)


@pytest.mark.parametrize("actor", [STRANGER, BOSS])
async def test_names_of_a_team_are_refused_to_others_whether_they_are_taken_or_not(
    actor: Actor,
) -> None:
    engines = await make_engines()
    await engines.put(THEIRS, OWNER)
    for name in ("owls~Strix", "owls~Other", "nobody~Strix"):
        for private in (True, False):
            with pytest.raises(NotOfTeam):
                await engines.put(EngineRecord(name=name, team="owls", private=private), actor)


async def test_a_private_engine_is_named_after_its_team() -> None:
    engines = await make_engines()
    with pytest.raises(BadField, match="owls~Strix"):
        await engines.put(msgspec.structs.replace(THEIRS, name="Strix"), OWNER)


async def test_an_approver_outside_the_team_neither_publishes_nor_removes_a_private_engine() -> (
    None
):
    engines = await make_engines()
    await engines.put(THEIRS, OWNER)
    for record in (THEIRS, msgspec.structs.replace(THEIRS, private=False)):
        with pytest.raises(NotOfTeam):
            await engines.put(record, BOSS)
    for version in (0, 1):
        with pytest.raises((UnknownEngine, UnknownVersion)):
            await engines.restore(THEIRS.name, version, BOSS)
    with pytest.raises(UnknownEngine):
        await engines.remove(THEIRS.name, BOSS)
    assert await engines.versions(THEIRS.name, BOSS.name) == ()


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (EngineRecord(name="Ethereal", tools=(ToolRecord("brainc"),)), "tools"),
        (EngineRecord(name="Ethereal", cpu_flags=("turbo",)), "cpu_flags"),
    ],
)
async def test_what_no_worker_reports_is_refused(record: EngineRecord, field: str) -> None:
    engines = await make_engines()
    with pytest.raises(BadField, match=f"{field}: no worker reports"):
        await engines.put(record, BOSS)
