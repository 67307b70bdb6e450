"""Options are declared, set and refused as UCI wants."""

import pytest

from rookery.engine.settings import Settings, UnknownOption, Weights, option_lines, with_option


def test_a_number_is_declared_with_its_limits() -> None:
    assert "option name Tempo type spin default 12 min 0 max 80" in option_lines()


def test_a_switch_is_declared_with_its_default() -> None:
    assert "option name Quiescence type check default true" in option_lines()


def test_the_weights_of_the_evaluation_are_options_for_a_tuner() -> None:
    declared = "\n".join(option_lines())
    for name in ("PawnValue", "BishopPair", "Mobility", "KingShield", "PieceSquare"):
        assert f"option name {name} type spin" in declared


@pytest.mark.parametrize("name", ["Tempo", "tempo", "TEMPO"])
def test_names_are_found_in_any_case(name: str) -> None:
    assert with_option(Settings(), name, "20").weights == Weights(tempo=20)


def test_a_switch_is_set_by_a_word() -> None:
    assert with_option(Settings(), "Quiescence", "False") == Settings(quiescence=False)


@pytest.mark.parametrize(("given", "kept"), [("-5", 0), ("900", 80)])
def test_a_number_beyond_its_limits_is_brought_back(given: str, kept: int) -> None:
    assert with_option(Settings(), "Tempo", given).weights.tempo == kept


@pytest.mark.parametrize(("name", "value"), [("Tempo", "much"), ("Quiescence", "perhaps")])
def test_a_wrong_value_is_refused(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=value):
        with_option(Settings(), name, value)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(UnknownOption):
        with_option(Settings(), "Contempt", "1")
