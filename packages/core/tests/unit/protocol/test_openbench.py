"""Engines of OpenBench become records, and what does not fit is told."""

import msgspec
import pytest

from rookery.core.model.engine import ToolRecord
from rookery.core.model.presets import read_preset
from rookery.core.model.tools import list_unreported
from rookery.core.protocol.openbench import OPENBENCH_ENGINE, OpenBenchEngine, import_engine

Settings = dict[str, object]

WINTER = {
    "private": False,
    "nps": 975000,
    "source": "https://git.example/winter",
    "build": {
        "path": "src",
        "compilers": ["clang++>=14.0", "g++"],
        "cpuflags": ["AVX2", "SSE4.2"],
        "systems": ["Linux", "Darwin", "Haiku"],
    },
    "test_presets": {
        "default": {
            "base_branch": "main",
            "book_name": "Pohl.epd",
            "test_bounds": "[0.00, 3.00]",
            "test_confidence": "[0.05, 0.10]",
            "win_adj": "movecount=3 score=400",
            "draw_adj": "movenumber=40 movecount=8 score=10",
        },
        "STC": {
            "both_options": "Threads=2 Hash=8 Foo=3",
            "both_time_control": "8.0+0.08",
            "workload_size": 32,
            "upload_pgns": "COMPACT",
        },
        "Regression": {"test_max_games": 4000, "win_adj": "None"},
    },
    "tune_presets": {"default": {"dev_options": "Threads=1 Hash=8", "spsa_alpha": 0.6}},
    "datagen_presets": {"default": {"workload_size": 128}},
}


def engine(**changes: object) -> OpenBenchEngine:
    return OPENBENCH_ENGINE.read(msgspec.json.encode({**WINTER, **changes}))


def preset(name: str) -> dict[str, str]:
    record = import_engine("Winter", engine()).record
    return next(each.settings for each in record.presets if each.name == name)


def test_the_build_becomes_a_recipe() -> None:
    record = import_engine("Winter", engine()).record
    assert (record.recipe.kind, record.recipe.directory) == ("make", "src")
    assert record.recipe.compilers == ("clang++>=14.0", "g++")
    assert record.cpu_flags == ("avx2", "sse4_2")
    assert record.systems == ("linux", "macos")
    assert record.speed.reference == 975_000
    assert record.nets.name == "EVALFILE"


def test_a_preset_has_what_the_default_one_has() -> None:
    assert preset("STC") == {
        "base_tag": "main",
        "book": "Pohl.epd",
        "sprt": '{"elo0":0.0,"elo1":3.0,"beta":0.05,"alpha":0.1}',
        "resign": '{"score":400,"moves":3}',
        "draw": '{"from_move":40,"moves":8,"score":10}',
        "new_options": "Hash=8 Foo=3",
        "base_options": "Hash=8 Foo=3",
        "threads": "2",
        "tc": "8.0+0.08",
        "pgn_detail": "moves",
    }


def test_a_number_of_games_stands_in_place_of_bounds() -> None:
    settings = preset("Regression")
    assert settings["num_games"] == "4000"
    assert "sprt" not in settings


def test_presets_of_tunes_have_a_name_of_their_own() -> None:
    assert preset("tune default")["spsa"] == '{"alpha":0.6}'


def test_what_has_no_place_here_is_told() -> None:
    assert import_engine("Winter", engine()).not_mapped == (
        "build: the system Haiku is not known here",
        "preset STC: workload_size = 32",
        "preset default of datagen_presets: there are no runs that make data",
    )


def settings(default: dict[str, object], own: dict[str, object], kind: str = "test") -> Settings:
    """Return the settings of a preset that is filled in after the default one."""
    presets = {f"{kind}_presets": {"default": default, "mine": own}}
    record = import_engine("Winter", engine(**presets)).record
    name = "mine" if kind == "test" else f"{kind} mine"
    return read_preset(next(each for each in record.presets if each.name == name))


@pytest.mark.parametrize(
    ("default", "own", "expected"),
    [
        ({"test_bounds": "[0, 3]"}, {"test_max_games": 9}, {"num_games": 9}),
        ({"test_max_games": 9}, {"test_bounds": "[0, 3]"}, {"sprt": {"elo0": 0.0, "elo1": 3.0}}),
        ({"both_time_control": "N=9"}, {}, {"tc": "N=9"}),
        ({"both_time_control": "9+1"}, {"dev_time_control": "5+1"}, {"tc": "9+1", "new_tc": "5+1"}),
        ({"dev_time_control": "5+1"}, {"both_time_control": "9+1"}, {"tc": "9+1"}),
        ({"base_branch": "main"}, {"both_branch": "dev"}, {"new_tag": "dev", "base_tag": "dev"}),
        (
            {"both_options": "Threads=2 Hash=8", "base_options": "Threads=1 Hash=4"},
            {},
            {"new_options": "Hash=8", "base_options": "Hash=4"}
            | {"new_threads": 2, "base_threads": 1},
        ),
        (
            {"base_options": "Threads=1 Hash=4"},
            {"both_options": "Threads=2 Hash=8"},
            {"new_options": "Hash=8", "base_options": "Hash=8", "threads": 2},
        ),
        ({"both_bench": 7}, {"dev_bench": 8}, {"new_signature": 8, "base_signature": 7}),
        ({"throughput": 500, "priority": -1}, {}, {"throughput": 50, "priority": -1}),
        ({"syzygy_adj": "5-MAN"}, {}, {"syzygy_men": 5}),
        ({"syzygy_adj": "5-MAN"}, {"syzygy_adj": "DISABLED", "syzygy_wdl": "DISABLED"}, {}),
        ({"upload_pgns": "FALSE"}, {"upload_pgns": "VERBOSE"}, {"pgn_detail": "full"}),
        ({"book_name": "a.epd"}, {"book_name": "b.pgn"}, {"book": "b.pgn"}),
    ],
)
def test_each_setting_of_a_test_means_what_it_means_there(
    default: dict[str, object], own: dict[str, object], expected: Settings
) -> None:
    assert settings(default, own) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"dev_options": "Threads=2 Hash=8"}, {"threads": 2}),
        ({"both_options": "Threads=2 Hash=8"}, {"threads": 2}),
        ({"dev_time_control": "9+1"}, {"tc": "9+1"}),
        ({"both_time_control": "9+1"}, {"tc": "9+1"}),
        ({"both_branch": "dev"}, {"new_tag": "dev", "base_tag": "dev"}),
        ({"dev_bench": 7}, {"new_signature": 7, "base_signature": 7}),
        ({"spsa_iterations": 5000, "spsa_pairs_per": 4}, {"num_games": 40_000}),
        ({"spsa_iterations": 5000}, {"num_games": 80_000}),
        (
            {"spsa_alpha": 0.6, "spsa_gamma": 0.1, "spsa_A_ratio": 0.2},
            {"spsa": {"alpha": 0.6, "gamma": 0.1, "A": 0.2}},
        ),
    ],
)
def test_each_setting_of_a_tune_is_for_its_one_engine(
    given: dict[str, object], expected: Settings
) -> None:
    options = {"new_options": "Hash=8", "base_options": "Hash=8"} if "threads" in expected else {}
    assert settings({}, given, "tune") == expected | options


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("workload_size", 32),
        ("syzygy_wdl", "6-MAN"),
        ("syzygy_adj", "OPTIONAL"),
        ("both_network", "ABCD1234"),
        ("both_time_control", "soon"),
        ("throughput", "much"),
        ("test_bounds", "N/A"),
        ("test_max_games", "N/A"),
        ("win_adj", "never"),
        ("draw_adj", "never"),
        ("upload_pgns", "SOME"),
        ("book_name", "None"),
    ],
)
def test_a_setting_without_a_counterpart_is_told(name: str, value: object) -> None:
    found = import_engine("Winter", engine(test_presets={"mine": {name: value}}))
    assert f"preset mine: {name} = {value}" in found.not_mapped


@pytest.mark.parametrize(
    ("flag", "expected"),
    [("AVX2", "avx2"), ("SSE41", "sse4_1"), ("AVX512VNNI", "avx512_vnni"), ("SSE3", "pni")],
)
def test_flags_have_the_names_that_workers_report(flag: str, expected: str) -> None:
    build = {"compilers": ["g++"], "cpuflags": [flag]}
    found = import_engine("Winter", engine(build=build))
    assert found.record.cpu_flags == (expected,)
    assert list(list_unreported(found.record)) == []


@pytest.mark.parametrize(
    "tool",
    ["gcc", "g++>=11.0.0", "clang", "clang++", "cargo>=1.70.0", "go", "zig", "dotnet", "java"],
)
def test_the_only_compiler_is_needed(tool: str) -> None:
    record = import_engine("Winter", engine(build={"compilers": [tool]})).record
    name, _, version = tool.partition(">=")
    assert record.tools == (ToolRecord("make"), ToolRecord(name, version))
    assert list(list_unreported(record)) == []


def test_what_no_worker_reports_is_told() -> None:
    build = {"compilers": ["brainc"], "cpuflags": ["TURBO"]}
    assert import_engine("Winter", engine(build=build)).not_mapped[-2:] == (
        "build: no worker reports brainc, so no machine could play it",
        "build: no worker reports turbo, so no machine could play it",
    )


@pytest.mark.parametrize(("team", "private"), [("", False), ("Nest", True)])
def test_a_private_engine_needs_a_team(team: str, private: bool) -> None:
    found = import_engine("Winter", engine(private=True), team)
    assert found.record.private == private
    assert any("--team" in remark for remark in found.not_mapped) != private
