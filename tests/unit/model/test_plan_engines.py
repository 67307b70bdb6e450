"""What engine records ask of a machine."""

from rookery.model.engine import BUILT_IN, EngineRecord, RecipeRecord, ToolRecord, catalogue_of
from rookery.model.machine import OFFICIAL, ClaimedAbilities, abilities_of
from rookery.model.plan import NeedWord, needs_of
from tests.makers import ROOKERY, make_plan


def test_what_a_record_says_is_read_where_it_is_needed() -> None:
    record = EngineRecord(
        name="Ethereal",
        source="HTTPS://Git.example.org/owls/Ethereal.git",
        recipe=RecipeRecord(kind="installed", output="rookery-fledgling --quick"),
    )
    assert ToolRecord("cargo", "1.80").least == (1, 80)
    assert record.repository == "https://git.example.org/owls/Ethereal"
    assert record.needed_recipe == "bundled"


def test_a_sandboxed_engine_goes_to_workers_with_a_sandbox() -> None:
    record = EngineRecord(name="Ethereal", sandboxed=True)
    (need,) = (
        need
        for need in needs_of(make_plan(engine="Ethereal"), catalogue_of([record]))
        if need.word is NeedWord.SANDBOX
    )
    assert not need.met_by(abilities_of(ROOKERY))
    assert need.met_by(abilities_of(ClaimedAbilities(system="linux", sandbox=True)))
    assert "sandbox" in need.sentence


def test_fledgling_is_for_workers_of_ours() -> None:
    catalogue = catalogue_of(BUILT_IN)
    found = needs_of(make_plan(engine="Fledgling"), catalogue)
    assert all(need.met_by(abilities_of(ROOKERY)) for need in found)
    assert not all(need.met_by(OFFICIAL) for need in found)
