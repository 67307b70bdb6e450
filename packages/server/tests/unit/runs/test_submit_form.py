"""The form of a new test: texts into the fields of a submission, and back."""

from msgspec.structs import fields

from rookery.core.model.engine import STOCKFISH, EngineRecord
from rookery.core.model.plan import Draw, Resign
from rookery.core.model.presets import find_preset
from rookery.core.protocol.kinds.spsa import SpsaSettings
from rookery.core.protocol.runs import SubmittedArgs
from rookery.server.runs.submit.form import (
    apply_preset,
    begin_form,
    pin_commits,
    read_form,
    spell_fields,
    spell_run,
    spell_tuned,
)
from rookery.server.runs.submit.inputs import INPUTS, PLACES
from tests.makers import make_plan, make_run, make_side, sprt, spsa


def laid(name: str) -> dict[str, str]:
    preset = find_preset(STOCKFISH, name)
    assert preset is not None
    return apply_preset(begin_form(STOCKFISH, "https://github.com/olga/Stockfish", "x.epd"), preset)


def test_a_preset_fills_the_form_and_the_form_says_the_preset() -> None:
    read = read_form({**laid("LTC SMP"), "new_tag": "idea"})
    assert read.errors == {}
    assert read.fields["sprt"] == {"elo0": 0.5, "elo1": 2.5}
    assert (read.fields["threads"], read.fields["tc"]) == (8, "20+0.2")
    assert read.fields["new_options"] == "Hash=256"


def test_no_preset_of_stockfish_purges_by_itself() -> None:
    ticked = [each.name for each in STOCKFISH.presets if laid(each.name).get("auto_purge")]
    assert ticked == []
    assert read_form({**laid("STC"), "new_tag": "idea"}).fields["auto_purge"] is False


def test_another_preset_takes_the_kind_of_run_and_its_limit_with_it() -> None:
    preset = find_preset(STOCKFISH, "STC")
    assert preset is not None
    regression = laid("regression")
    assert (regression["kind"], regression["num_games"]) == ("games", "60000")
    again = read_form(apply_preset(regression, preset)).fields
    assert again["sprt"] == {"elo0": 0.0, "elo1": 2.0}
    assert "num_games" not in again


def test_what_is_no_number_is_told_beside_its_field() -> None:
    read = read_form({"kind": "sprt", "threads": "two", "sprt.elo0": "1e999", "priority": "-1"})
    assert read.errors == {
        "threads": "expected a whole number",
        "sprt.elo0": "expected a number",
    }
    assert read.fields["priority"] == -1


def test_an_engine_plays_itself_unless_another_is_named() -> None:
    both = read_form({"new_engine": "Kestrel", "base_engine": ""}).fields
    assert both["base_engine"] == "Kestrel"
    assert (
        read_form({"new_engine": "Kestrel", "base_engine": "Merlin"}).fields["base_engine"]
        == "Merlin"
    )


def test_fields_of_another_kind_of_run_do_not_count() -> None:
    given = read_form({"kind": "games", "sprt.elo0": "0", "spsa.A": "x"}).fields
    assert not {"sprt", "spsa"} & given.keys()


def test_a_tune_plays_one_program_whatever_the_base_says() -> None:
    texts = {**laid("SPSA"), "new_tag": "tune", "resolved_new": "a" * 40, "base_options": "Hash=1"}
    given = read_form({**texts, "base_repo": "https://host/other"}).fields
    assert (given["base_tag"], given["resolved_base"]) == ("tune", "a" * 40)
    assert given["base_options"] == "Hash=16"
    assert "base_repo" not in given


def test_lists_pairs_and_boxes_come_through_both_ways() -> None:
    texts = {"kind": "games", "new_nets": "a.nnue, b.nnue", "new_uci": "Move Overhead = 10"}
    given = read_form({**texts, "auto_purge": "1"}).fields
    assert given["new_nets"] == ["a.nnue", "b.nnue"]
    assert given["new_uci"] == {"Move Overhead": "10"}
    assert given["auto_purge"] is True
    spelt = spell_fields(given)
    assert spelt["new_uci"] == "Move Overhead = 10"
    assert spelt["auto_purge"] == "1"


def test_an_engine_of_ones_own_takes_its_base_from_where_the_record_says() -> None:
    record = EngineRecord(name="Strix", source="https://host/strix")
    given = read_form(begin_form(record, "https://host/olga/strix", "x.epd")).fields
    assert given["new_repo"] == "https://host/olga/strix"
    assert given["base_repo"] == "https://host/strix"


def test_a_clone_plays_the_same_commits_until_its_branch_is_changed() -> None:
    side = make_side("idea", commit="a" * 40, signature="123456")
    run = make_run("a", make_plan(sides=(side, make_side("master"))), sprt())
    texts = spell_run(run)
    same, other = pin_commits(texts), pin_commits({**texts, "new_tag": "idea-2"})
    assert read_form(same).fields["resolved_new"] == side.commit
    assert "resolved_new" not in read_form(other).fields
    assert "new_signature" not in read_form(other).fields


def test_tuned_values_play_as_options_against_the_same_without() -> None:
    tuning = spsa(lines="Margin,500.4,0,1000,20,0.002")
    texts = spell_tuned(make_run("a", make_plan(games=1000), tuning), tuning.tune)
    assert texts["new_options"] == f"{texts['base_options']} Margin=500"
    assert texts["kind"] == "sprt"


def test_the_form_has_an_input_for_all_that_a_submission_can_say() -> None:
    said = {info.name for info in fields(SubmittedArgs)}
    known = {name.partition(".")[0] for name in INPUTS} | set(PLACES)
    assert said - known == {"username", "itp"}
    for group, kind in (("spsa", SpsaSettings), ("resign", Resign), ("draw", Draw)):
        inner = {f"{group}.{info.encode_name}" for info in fields(kind)}
        assert inner - INPUTS.keys() <= {"spsa.algorithm"}
