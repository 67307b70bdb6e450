"""Engine records as the core reads them."""

from rookery.model import engine as core
from rookery.model.machine import OFFICIAL, rookery_abilities
from rookery.model.plan import NeedWord, needs_of
from rookery.protocol.engines import (
    BUILT_IN,
    STOCKFISH,
    EngineRecord,
    PresetRecord,
    ToolRecord,
    catalogue_of,
    engine_of,
)
from tests.unit.core.makers import ROOKERY, make_plan


def needs(record: EngineRecord) -> set[NeedWord]:
    plan = make_plan(engine=record.name)
    return {need.word for need in needs_of(plan, catalogue_of([record]))}


def test_the_record_of_stockfish_holds_the_protocols_numbers() -> None:
    assert engine_of(STOCKFISH) == core.STOCKFISH


def test_versions_and_presets_become_values() -> None:
    preset = PresetRecord("STC", {"tc": "10+0.1"})
    record = EngineRecord(name="Ethereal", tools=(ToolRecord("cargo", "1.80"),), presets=(preset,))
    engine = engine_of(record)
    assert engine.tools == (core.Tool("cargo", (1, 80)),)
    assert engine.presets == (core.Preset("STC", (("tc", "10+0.1"),)),)


def test_a_sandboxed_engine_goes_to_workers_with_a_sandbox() -> None:
    record = EngineRecord(name="Ethereal", sandboxed=True)
    assert NeedWord.SANDBOX in needs(record)
    (need,) = (
        need
        for need in needs_of(make_plan(engine="Ethereal"), catalogue_of([record]))
        if need.word is NeedWord.SANDBOX
    )
    assert not need.met_by(ROOKERY)
    assert need.met_by(rookery_abilities(system="linux", sandbox=True))
    assert "sandbox" in need.sentence


def test_fledgling_is_for_workers_of_ours() -> None:
    catalogue = catalogue_of(BUILT_IN)
    found = needs_of(make_plan(engine="Fledgling"), catalogue)
    assert all(need.met_by(ROOKERY) for need in found)
    assert not all(need.met_by(OFFICIAL) for need in found)
