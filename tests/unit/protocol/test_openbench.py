"""Engines of OpenBench become records, and what does not fit is told."""

import msgspec
import pytest

from rookery.protocol.openbench import OPENBENCH_ENGINE, OpenBenchEngine, import_engine

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
        "sprt": '{"elo0":0.0,"elo1":3.0,"alpha":0.05,"beta":0.1}',
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


@pytest.mark.parametrize(("team", "private"), [("", False), ("Nest", True)])
def test_a_private_engine_needs_a_team(team: str, private: bool) -> None:
    found = import_engine("Winter", engine(private=True), team)
    assert found.record.private == private
    assert any("--team" in remark for remark in found.not_mapped) != private
