"""What a plan asks of a machine: needs, demands, and what engine records add."""

import pytest
from msgspec.structs import replace as with_fields

from rookery.core.model.engine import (
    BUILT_IN,
    BUNDLED_COMMAND,
    STANDARD,
    STOCKFISH,
    Catalogue,
    EngineRecord,
    RecipeKind,
    RecipeRecord,
    SpeedRecord,
    ToolRecord,
    catalogue_of,
    read_version,
)
from rookery.core.model.machine import OFFICIAL, ClaimedAbilities, abilities_of
from rookery.core.model.plan import Draw, Need, NeedWord, Plan, demands_of, first_missing, needs_of
from tests.values import ROOKERY, make_plan, make_side, spsa

TINY = EngineRecord(
    name="Tiny",
    recipe=RecipeRecord(kind="cargo"),
    tools=(ToolRecord("cargo", "1.70"),),
    cpu_flags=("avx2",),
    systems=("linux",),
    team="tinies",
    private=True,
)
CATALOGUE = Catalogue({"Stockfish": STOCKFISH, "Tiny": TINY})

UNUSUAL = {
    "nodes_tc": make_plan(tc="N=1000"),
    "custom_book": make_plan(book="mine.epd", book_official=False),
    "adjudication": make_plan(draw=Draw(34, 8, 20)),
    "syzygy:5": make_plan(syzygy_men=5),
    "variant:chess960": make_plan(variant="chess960"),
    "uci_options": make_plan(sides=(make_side(uci=(("Clear Hash", "1"),)), make_side())),
    "play_rules": make_plan(scaling="off"),
    "two_repos": make_plan(sides=(make_side(), make_side(repository="https://x.example/y"))),
    "side_threads": make_plan(sides=(make_side(), make_side(threads=2))),
    "binary": make_plan(sides=(make_side(binary="ab12"), make_side())),
}


def test_a_fishtest_shaped_run_needs_a_stockfish_build_and_nothing_else() -> None:
    assert needs_of(make_plan(), STANDARD) == (Need(NeedWord.STOCKFISH_BUILD),)


@pytest.mark.parametrize(("need", "plan"), UNUSUAL.items())
def test_whatever_is_unusual_is_a_need_the_official_worker_lacks(need: str, plan: Plan) -> None:
    needs = needs_of(plan, STANDARD)
    assert need in map(str, needs)
    missing = first_missing(needs, OFFICIAL)
    assert missing
    assert str(missing) == need
    assert missing.sentence


def test_a_worker_without_a_sandbox_is_given_the_bundled_engine_alone() -> None:
    bundled_only = abilities_of(ClaimedAbilities(system="linux", bundled_only=True))
    catalogue = Catalogue(
        {
            "Stockfish": STOCKFISH,
            "Own": EngineRecord(
                name="Own", recipe=RecipeRecord(kind="installed", output=BUNDLED_COMMAND)
            ),
        }
    )
    uploaded = make_plan(sides=(make_side(binary="ab12"), make_side(binary="ab12")))
    for able in (bundled_only, abilities_of(ROOKERY)):
        assert first_missing(needs_of(make_plan(engine="Own"), catalogue), able) is None
    for plan in (make_plan(), uploaded):
        assert first_missing(needs_of(plan, STANDARD), bundled_only)
    recipes: tuple[RecipeKind, ...] = ("make", "cargo", "installed", "commands")
    for recipe in recipes:
        needs = needs_of(
            make_plan(engine="X"),
            Catalogue({"X": EngineRecord(name="X", recipe=RecipeRecord(kind=recipe))}),
        )
        assert first_missing(needs, bundled_only)


def test_another_engine_brings_its_recipe_tools_flags_system_team_and_speed() -> None:
    needs = needs_of(make_plan(engine="Tiny"), CATALOGUE)
    assert list(map(str, needs)) == [
        "recipe:cargo",
        "tool:cargo>=1.70",
        "own_speed",
        "team:tinies",
        "cpu:avx2",
        "os:linux",
    ]


def test_a_machine_with_all_of_it_meets_all_of_it() -> None:
    claimed = ClaimedAbilities(
        system="linux",
        cpu_flags=("avx2", "bmi2"),
        tools={"cargo": "cargo 1.80.1 (376290515 2024-07-16)"},
        syzygy_men=6,
    )
    able = abilities_of(claimed, frozenset({"tinies"}))
    for plan in (*UNUSUAL.values(), make_plan(engine="Tiny")):
        assert first_missing(needs_of(plan, CATALOGUE), able) is None


def test_versions_are_read_from_what_tools_print() -> None:
    assert read_version("g++ (Debian 12.2.0-14) 12.2.0") == (12, 2, 0)
    assert read_version("no number") == ()


def test_a_book_for_chess960_makes_the_official_worker_play_it() -> None:
    plan = make_plan(book="UHO_FRC.epd", variant="chess960")
    assert first_missing(needs_of(plan, STANDARD), OFFICIAL) is None


def test_an_old_tool_is_as_good_as_none() -> None:
    need = Need(NeedWord.TOOL, "cargo", (1, 70))
    old = abilities_of(ClaimedAbilities(tools={"cargo": "1.60"}))
    assert not need.met_by(old)
    assert not need.met_by(abilities_of(ROOKERY))
    assert need.sentence == "the tool cargo 1.70 is missing or too old"


def test_an_engine_shaped_like_stockfish_with_another_speed_is_not_for_official_workers() -> None:
    fork = EngineRecord(
        name="Fork", recipe=RecipeRecord(kind="stockfish"), speed=SpeedRecord(reference=10_000)
    )
    needs = needs_of(make_plan(engine="Fork"), Catalogue({"Fork": fork}))
    assert str(first_missing(needs, OFFICIAL)) == "own_speed"


def test_a_tune_of_fractions_needs_a_worker_that_keeps_them() -> None:
    floats = spsa(lines="P1,float,0.5,0,1,0.1,0.002")
    assert list(map(str, floats.needs())) == ["float_spsa"]
    assert spsa().needs() == ()


def test_memory_is_the_contracts() -> None:
    assert demands_of(make_plan(), STANDARD).memory_mib(8) == 3612


def test_a_game_takes_as_many_cores_as_the_larger_side() -> None:
    plan = make_plan(sides=(make_side(threads=2), make_side(threads=3)))
    assert demands_of(plan, STANDARD).slots(8) == 2


def test_options_without_a_hash_ask_for_none() -> None:
    assert make_side(options="Threads=1 Hash=64").hash_mib == 64
    assert make_side(options="").hash_mib == 0


def test_runs_that_differ_in_weight_alone_have_equal_demands() -> None:
    plan = make_plan(arch_filter="avx2")
    heavy = with_fields(plan, priority=5, throughput=200, games=2000)
    assert demands_of(plan, STANDARD) == demands_of(heavy, STANDARD)


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
