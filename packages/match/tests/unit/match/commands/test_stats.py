"""`rookery stats`: what it prints, and what it says to questions it can't answer."""

import json
import math
import re
from typing import Any, cast

import pytest

from rookery.cli.main import main
from tests.places import PROJECT

PAIRS = ["--pentanomial", "10", "50", "120", "70", "14"]
BOUNDS = ["--elo0", "0", "--elo1", "2"]
Capture = pytest.CaptureFixture[str]


def asked(capsys: Capture, *words: str) -> str:
    assert main(["stats", *words]) == 0
    return capsys.readouterr().out


def asked_for_data(capsys: Capture, *words: str) -> dict[str, Any]:
    return cast("dict[str, Any]", json.loads(asked(capsys, *words, "--json")))


def refused(capsys: Capture, *words: str) -> str:
    assert main(["stats", *words]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    return shown.err


def test_sprt_tells_ratio_and_state(capsys: Capture) -> None:
    assert asked(capsys, "sprt", *PAIRS, *BOUNDS).splitlines() == [
        "SPRT   [0, 2] normalised Elo, alpha 0.05, beta 0.05",
        "Games  528 (LL 10, LD 50, even 120, WD 70, WW 14)",
        "LLR    0.2423 in (-2.9444, 2.9444)",
        "State  running",
    ]


def test_sprt_tells_programs_the_same(capsys: Capture) -> None:
    data = asked_for_data(capsys, "sprt", *PAIRS, *BOUNDS)
    assert data["llr"] == pytest.approx(0.2422723403, abs=1e-9)
    assert (data["state"], data["elo_model"]) == ("running", "normalized")


def test_sprt_with_other_bounds_is_only_a_would_have(capsys: Capture) -> None:
    shown = asked(capsys, "sprt", *PAIRS, *BOUNDS, "--would-have", "0", "10")
    assert "Would have  [0, 10] LLR 1.0377, running" in shown


def test_sprt_knows_the_other_models(capsys: Capture) -> None:
    words = ["sprt", *PAIRS, "--wdl", "150", "250", "128", *BOUNDS, "--model"]
    ratios = {asked_for_data(capsys, *words, name)["llr"] for name in ("logistic", "bayeselo")}
    assert len(ratios) == 2


def test_sprt_takes_negative_bounds(capsys: Capture) -> None:
    assert "[-1.75, 0.25]" in asked(capsys, "sprt", *PAIRS, "--elo0", "-1.75", "--elo1", "0.25")


def test_the_chances_of_error_move_the_bounds_of_the_ratio(capsys: Capture) -> None:
    words = ["sprt", *PAIRS, *BOUNDS, "--alpha", "0.01", "--beta", "0.2"]
    data = asked_for_data(capsys, *words)
    expected = pytest.approx((math.log(0.2 / 0.99), math.log(80)))
    assert (data["lower_bound"], data["upper_bound"]) == expected


def test_bounds_may_be_given_as_other_commands_take_them(capsys: Capture) -> None:
    apart = asked(capsys, "sprt", *PAIRS, *BOUNDS)
    assert asked(capsys, "sprt", *PAIRS, "--sprt", "0", "2") == apart
    assert asked(capsys, "sprt", *PAIRS, "--sprt", "[0, 2]") == apart


def test_elo_of_single_games_takes_wins_first(capsys: Capture) -> None:
    shown = asked(capsys, "elo", "--wdl", "120", "80", "300")
    assert "500 (L 300, D 80, W 120)" in shown
    assert "Elo    -130.94 ± 29.59" in shown


def test_elo_of_pairs_and_games_tells_what_pairing_was_worth(capsys: Capture) -> None:
    data = asked_for_data(capsys, "elo", *PAIRS, "--wdl", "150", "250", "128")
    assert data["pairing_gain"] == pytest.approx(0.301, abs=1e-3)


def test_live_tells_the_unbiased_elo(capsys: Capture) -> None:
    assert "Elo    +18.44 [-0.40, +37.39]" in asked(capsys, "live", *PAIRS, *BOUNDS)


def test_power_of_games_alone_is_a_small_table(capsys: Capture) -> None:
    shown = asked(capsys, "power", "--games", "40000")
    assert shown.count("with power") == 4
    assert "(assumed)" in shown


def test_power_tells_the_games_needed(capsys: Capture) -> None:
    assert "69,780 show +2.00 Elo" in asked(capsys, "power", "--elo", "2", "--power", "0.9")


def test_fewer_false_alarms_take_more_games(capsys: Capture) -> None:
    words = ["power", "--elo", "2", "--power", "0.9"]
    asked_alphas = ("0.05", "0.01")
    answers = [asked_for_data(capsys, *words, "--alpha", each) for each in asked_alphas]
    usual, careful = (answer["shows"][0]["games"] for answer in answers)
    assert careful > 1.3 * usual


def test_power_takes_its_spread_from_a_sample(capsys: Capture) -> None:
    shown = asked(capsys, "power", "--games", "40000", "--elo", "2", *PAIRS)
    assert "(from the sample)" in shown


def test_outlook_without_results_is_a_table_of_lengths(capsys: Capture) -> None:
    shown = asked(capsys, "outlook", *BOUNDS).splitlines()
    assert len(shown) == 7
    assert "159,942" in shown[3]


def test_outlook_tells_the_length_at_a_true_elo(capsys: Capture) -> None:
    words = ["outlook", *BOUNDS, "--true-elo", "1", "--max-games", "100000"]
    (length,) = asked_for_data(capsys, *words)["lengths"]
    assert length["undecided_chance"] == pytest.approx(0.7885, abs=1e-4)


def test_outlook_of_few_results_tells_games_to_come_and_no_chance(capsys: Capture) -> None:
    assert "too early to say" in asked(capsys, "outlook", *BOUNDS, *PAIRS)
    data = asked_for_data(capsys, "outlook", *BOUNDS, *PAIRS)
    assert data["too_early"] is True
    assert "pass_chance" not in data
    assert 0 < data["games_left"]["early"] < data["games_left"]["late"]


def test_outlook_of_many_results_tells_chance_and_time(capsys: Capture) -> None:
    many = ["--pentanomial", "240", "7400", "16900", "7500", "250", "--games-per-minute", "300"]
    shown = asked(capsys, "outlook", *BOUNDS, *many)
    assert "Pass " in shown
    assert "Minutes left" in shown


def test_a_prior_of_ones_own_is_shown(capsys: Capture) -> None:
    assert "Prior       +0.00 ± 3.00" in asked(
        capsys, "outlook", *BOUNDS, *PAIRS, "--prior", "0", "3"
    )


@pytest.mark.parametrize("question", ["elo", "sprt", "live", "outlook"])
def test_no_results_at_all_are_answered_without_fuss(capsys: Capture, question: str) -> None:
    bounds = [] if question == "elo" else BOUNDS
    asked_for_data(capsys, question, *bounds, "--pentanomial", *["0"] * 5)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["elo"], "Give the results by --pentanomial or --wdl."),
        (["elo", "--wdl", "1", "-2", "3"], "'-2' is not a number of results"),
        (["elo", "--wdl", "1", "1.5", "3"], "'1.5' is not a number of results"),
        (["elo", "--wdl", "1", "9" * 30, "3"], "is not a number of results"),
        (["elo", "--pentanomial", "1", "2"], "takes 5 values"),
        (["sprt", *PAIRS], "Give the bounds by --sprt ELO0 ELO1, or by --elo0 and --elo1."),
        (["sprt", *PAIRS, "--elo0", "1", "--elo1", "1"], "elo1 must exceed elo0"),
        (["sprt", *PAIRS, "--elo0", "0", "--elo1", "nan"], "'nan' is not a number"),
        (["sprt", *PAIRS, "--elo0", "0", "--elo1", "5000"], "between -1000 and 1000"),
        (["sprt", *PAIRS, *BOUNDS, "--alpha", "0"], "alpha and beta must be"),
        (["sprt", *PAIRS, *BOUNDS, "--model", "glicko"], "'glicko' is none of"),
        (["power"], "Give --games, or --elo and --power."),
        (["power", "--games", "9", "--elo", "1", "--power", "0.5"], "give at most two"),
        (["power", "--games", "-3"], "'-3' is not between 1e-09 and 1e+12"),
        (["power", "--elo", "-2", "--power", "0.9"], "Games and Elo must be above 0"),
        (["outlook", *BOUNDS, *PAIRS, "--prior", "0", "0"], "prior's mean must lie"),
        (["outlook", *BOUNDS, *PAIRS, "--games-per-minute", "5e-324"], "is not between"),
    ],
)
def test_a_bad_question_gets_one_sentence(capsys: Capture, words: list[str], sentence: str) -> None:
    assert sentence in refused(capsys, *words)


PAGE = (PROJECT / "docs" / "statistics.md").read_text()
EXAMPLES = re.findall(r"```console\n\$ rookery (.+)\n((?:.+\n)*?)```", PAGE)


@pytest.mark.parametrize(("words", "shown"), EXAMPLES, ids=[words for words, _ in EXAMPLES])
def test_the_examples_in_the_docs_print_what_the_docs_show(
    capsys: Capture, words: str, shown: str
) -> None:
    assert main(words.split()) == 0
    assert capsys.readouterr().out == shown
