"""What a command line makes of a run: presets, files, flags, and words about what it takes."""

import io
import json
from pathlib import Path

import pytest

from rookery.cli.commands.submit import print_estimate
from rookery.cli.commands.submit_fields import RunFlags, find_flag, gather_fields
from rookery.core.client.client import Client
from rookery.core.command import BadArgument
from rookery.core.model.engine import EngineRecord, PresetRecord
from rookery.core.protocol import v1
from rookery.core.protocol.codec import encode
from tests.unit.cli.parsing import parsed
from tests.unit.protocol.samples import make_args

MINI = EngineRecord(
    name="Mini",
    presets=(
        PresetRecord("default", {"tc": "8", "book": "a.epd", "num_games": "400"}),
        PresetRecord("long", {"tc": "60+0.6", "sprt": '{"elo0": 0, "elo1": 3}', "threads": "2"}),
        PresetRecord("tune", {"tc": "5+0.05", "spsa": '{"A": 0.2, "alpha": 0.6}'}),
        PresetRecord("careful", {"sprt": '{"elo0": 0, "elo1": 2, "alpha": 0.01}'}),
    ),
)


class Records:
    """A server that knows one engine."""

    server = "http://farm.example"

    def call(self, method: str, path: str, body: bytes | None = None) -> bytes:
        assert (method, path, body) == ("GET", "/api/v1/engines/Mini", None)
        return encode(MINI)

    def upload(self, method: str, path: str, file: Path) -> bytes:
        raise AssertionError((method, path, file))


def fields(*words: str) -> dict[str, object]:
    given = parsed("submit", *words)
    flags = given.get("flags", RunFlags())
    return gather_fields(given.get("what", ()), given.get("preset"), flags, Client(Records()))


def test_an_engine_and_a_branch_play_the_main_line_by_the_plain_preset() -> None:
    assert fields("Mini", "idea") == {
        "new_engine": "Mini",
        "base_engine": "Mini",
        "new_tag": "idea",
        "base_tag": "HEAD",
        "tc": "8",
        "book": "a.epd",
        "num_games": 400,
    }


def test_a_preset_is_taken_by_its_name_and_flags_win() -> None:
    found = fields("Mini", "idea", "--preset=long", "--base=v1", "--threads=4", "--book=b.epd")
    assert found["sprt"] == {"elo0": 0, "elo1": 3}
    assert (found["tc"], found["threads"], found["base_tag"]) == ("60+0.6", 4, "v1")


def test_a_tune_plays_a_branch_against_itself(tmp_path: Path) -> None:
    assert fields("Mini", "idea", "--preset=tune")["base_tag"] == "idea"


def test_a_file_of_parameters_leaves_the_rest_of_a_tune_as_its_preset_has_it(
    tmp_path: Path,
) -> None:
    file = tmp_path / "tune.txt"
    file.write_text("Tempo,12,0,80,5,0.002")
    found = fields("Mini", "idea", "--preset=tune", f"--spsa={file}")
    assert found["spsa"] == {"A": 0.2, "alpha": 0.6, "raw_params": "Tempo,12,0,80,5,0.002"}


def test_bounds_leave_the_rest_of_a_test_as_its_preset_has_it() -> None:
    found = fields("Mini", "idea", "--preset=careful", "--sprt=0,3")
    assert found["sprt"] == {"elo0": 0.0, "elo1": 3.0, "alpha": 0.01}


def test_a_tune_asked_for_by_a_flag_is_no_test_though_the_preset_is(tmp_path: Path) -> None:
    file = tmp_path / "tune.txt"
    file.write_text("Tempo,12,0,80,5,0.002")
    found = fields("Mini", "idea", "--preset=careful", f"--spsa={file}")
    assert "sprt" not in found
    assert found["base_tag"] == "idea"


def test_an_unknown_preset_is_told_with_those_there_are() -> None:
    with pytest.raises(
        BadArgument, match="no preset blitz; it has: careful, default, long, quick, tune"
    ):
        fields("Mini", "idea", "--preset=blitz")


@pytest.mark.parametrize("words", [["a", "b", "c"], ["--preset=long"]])
def test_what_makes_no_sense_is_told(words: list[str]) -> None:
    with pytest.raises(BadArgument):
        fields(*words)


def test_a_file_is_taken_as_it_is_but_for_flags(tmp_path: Path) -> None:
    file = tmp_path / "run.json"
    file.write_text(json.dumps({"tc": "10+0.1", "num_games": 2}))
    assert fields(str(file), "--games=4") == {"tc": "10+0.1", "num_games": 4}


def test_programs_have_everything_else_by_default(tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text("#!x")
    found = fields(f"--new={program}", "--base=master", "--tc=5+0.05")
    assert (found["tc"], found["book"]) == ("5+0.05", "rookery-demo.epd")
    assert found["sprt"] == {"elo0": 0.0, "elo1": 5.0}


def test_the_quick_preset_is_for_everything(tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text("#!x")
    for words in (("Mini", "idea"), (f"--new={program}", "--base=master")):
        found = fields(*words, "--preset=quick")
        assert (found["tc"], found["sprt"]) == ("1+0.01", {"elo0": 0.0, "elo1": 30.0})
        assert fields(*words, "--preset=quick", "--tc=5+0.05")["tc"] == "5+0.05"


def test_a_text_is_not_taken_for_a_program(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    readme.write_text("# An engine\n")
    with pytest.raises(BadArgument, match=r"README\.md is not a program"):
        fields(f"--new={readme}", "--base=master")


@pytest.mark.parametrize(
    ("field", "flag"),
    [
        ("tc", "--tc"),
        ("num_games", "--games"),
        ("sprt.elo0", "--sprt"),
        ("variant", "--set variant="),
    ],
)
def test_a_field_is_told_as_its_flag(field: str, flag: str) -> None:
    assert find_flag(field) == flag


def preview(fleet: v1.FleetNow, *lengths: v1.ExpectedLength) -> v1.Preview:
    return v1.Preview(
        name="idea",
        kind="sprt",
        games=25_000,
        lengths=lengths,
        core_hours=312.4,
        fleet=fleet,
        needs=(),
        warnings=(),
        args=make_args(),
    )


def estimate(given: v1.Preview) -> str:
    out = io.StringIO()
    print_estimate(given, out)
    return out.getvalue().rstrip("\n")


def test_length_and_cost_are_told_in_words() -> None:
    length = v1.ExpectedLength(
        elo=0, pass_chance=0.05, mean_games=20_000, early_games=9_000, late_games=40_000
    )
    said = estimate(preview(v1.FleetNow(machines=2, cores=8, hours=39.06), length))
    assert "9,000 to 40,000" in said
    assert "about 312 core hours, for 25,000 games" in said
    assert "With all 2 machines connected that could play it (8 cores): about 39.1 hours." in said


def test_one_machine_with_one_core_is_told_as_one() -> None:
    said = estimate(preview(v1.FleetNow(machines=1, cores=1, hours=3.0)))
    assert "With the one machine connected that could play it (1 core): about 3.0 hours." in said


def test_an_idle_fleet_is_told() -> None:
    said = estimate(preview(v1.FleetNow(machines=0, cores=0)))
    assert said.endswith("No machine that could play it is connected right now.")
