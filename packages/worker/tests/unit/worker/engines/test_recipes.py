"""Recipes become commands."""

from pathlib import Path

from rookery.core.model.engine import EngineRecord, RecipeKind, RecipeRecord, ToolRecord
from rookery.worker.engines.recipes import (
    BuildConditions,
    BuildPlan,
    folder_of,
    plan_build,
    tools_of,
)
from rookery.worker.engines.toolchain import FoundTool

TREE = Path("/tree")
CLANG = FoundTool("clang++", "/usr/bin/clang++", "clang version 14.0.6")


def planned(recipe: RecipeRecord, **found: object) -> BuildPlan:
    circumstances = BuildConditions(TREE, **found)  # type: ignore[arg-type]  # fields by name
    return plan_build(EngineRecord(name="Any", recipe=recipe), circumstances)


def commands(kind: RecipeKind, **found: object) -> list[str]:
    steps = planned(RecipeRecord(kind=kind), **found).steps
    return [" ".join(step.command) for step in steps]


def test_openbenchs_make_is_told_program_compiler_and_net() -> None:
    nets = (("EVALFILE", Path("/nets/one")),)
    (words,) = commands("make", compiler=CLANG, nets=nets, jobs=4)
    assert words == "make -j4 EXE=rookery-engine CXX=/usr/bin/clang++ EVALFILE=/nets/one"


def test_a_c_compiler_goes_by_another_variable() -> None:
    (words,) = commands("make", compiler=FoundTool("gcc", "/usr/bin/gcc", ""))
    assert "CC=/usr/bin/gcc" in words


def test_a_makefile_that_calls_cargo_has_its_packages_fetched_before() -> None:
    made = planned(RecipeRecord(kind="make"), has_cargo=True, is_locked=True)
    words = ("cargo", "fetch", "--manifest-path", "/tree/Cargo.toml", "--locked")
    assert made.steps[0].command == words
    assert [step.network for step in made.steps] == [True, False]
    assert made.steps[1].environment["CARGO_NET_OFFLINE"] == "true"


def test_stockfishs_make_is_a_profile_build_for_this_machine() -> None:
    (words,) = commands("stockfish", compiler=CLANG)
    assert words.startswith("make -j1 profile-build ARCH=native EXE=stockfish COMP=clang")
    assert planned(RecipeRecord(kind="stockfish")).steps[0].folder == TREE / "src"


def test_cargo_builds_offline_after_its_fetch() -> None:
    assert commands("cargo", jobs=2) == [
        "cargo fetch --manifest-path /tree/Cargo.toml",
        "cargo build --release --offline -j2",
    ]


def test_cargo_fetches_from_a_folder_where_the_source_has_no_settings() -> None:
    fetching, building = planned(RecipeRecord(kind="cargo")).steps
    assert not fetching.folder.is_relative_to(TREE)
    assert building.folder == TREE


def test_packages_that_lie_in_the_source_are_not_fetched() -> None:
    assert [
        step.network for step in planned(RecipeRecord(kind="cargo"), is_vendored=True).steps
    ] == [False]


def test_variables_of_the_record_win() -> None:
    recipe = RecipeRecord(kind="stockfish", target="build", variables={"ARCH": "x86-64"})
    words = planned(recipe).steps[0].command
    assert "ARCH=x86-64" in words
    assert "build" in words


def test_a_folder_outside_the_source_is_not_gone_to() -> None:
    for name in ("../elsewhere", "/etc"):
        assert folder_of(RecipeRecord(directory=name), TREE) == TREE


def test_tools_have_the_versions_that_the_record_names() -> None:
    tools = (ToolRecord("cargo", "1.70"), ToolRecord("make"))
    record = EngineRecord(name="Any", recipe=RecipeRecord(kind="commands"), tools=tools)
    assert tools_of(record) == (ToolRecord("cargo", "1.70"), ToolRecord("make"))
