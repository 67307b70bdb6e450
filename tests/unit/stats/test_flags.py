"""The colour of a finished test."""

import pytest

from rookery.stats.sprt import Flag, Sprt, Style, Verdict, fixed_verdict, flag, style


@pytest.mark.parametrize(
    ("verdict", "wins", "colour"),
    [
        (Verdict.ACCEPTED, 11, Flag.GREEN),
        (Verdict.ACCEPTED, 9, Flag.GREEN),
        (Verdict.REJECTED, 11, Flag.YELLOW),
        (Verdict.REJECTED, 10, Flag.NONE),
        (Verdict.RUNNING, 11, Flag.NONE),
    ],
)
def test_flags(verdict: Verdict, wins: int, colour: Flag) -> None:
    assert flag(verdict, wins=wins, losses=10) is colour


@pytest.mark.parametrize(
    ("los", "verdict"),
    [
        (0.951, Verdict.ACCEPTED),
        (0.95, Verdict.RUNNING),
        (0.05, Verdict.RUNNING),
        (0.049, Verdict.REJECTED),
    ],
)
def test_a_fixed_test_is_decided_by_its_superiority(los: float, verdict: Verdict) -> None:
    assert fixed_verdict(los) is verdict


def test_a_passed_simplification_is_blue() -> None:
    spec = Sprt(-1.75, 0.25)
    assert style(Verdict.ACCEPTED, wins=9, losses=10, spec=spec) is Style.BLUE


def test_a_passed_gainer_is_green() -> None:
    assert style(Verdict.ACCEPTED, wins=11, losses=10, spec=Sprt(0.0, 2.0)) is Style.GREEN


def test_a_failed_test_is_red_unless_it_won_more() -> None:
    assert style(Verdict.REJECTED, wins=9, losses=10) is Style.RED
    assert style(Verdict.REJECTED, wins=11, losses=10) is Style.YELLOW


def test_a_running_test_is_plain() -> None:
    assert style(Verdict.RUNNING, wins=11, losses=10) is Style.PLAIN
