"""Roots in a bracket."""

from math import cos, tanh

import pytest

from rookery.stats.numbers import root


def test_a_crossing_is_found_to_the_last_digits() -> None:
    assert root(lambda x: cos(x) - x, 0.0, 1.0) == pytest.approx(0.7390851332151607, abs=1e-14)


def test_a_flat_function_with_a_sudden_step_is_mastered() -> None:
    assert root(lambda x: tanh(1e3 * (x - 0.3)), -50.0, 9.0) == pytest.approx(0.3)


def test_the_order_of_signs_does_not_matter() -> None:
    assert root(lambda x: 2.0 - x, -10.0, 10.0) == root(lambda x: x - 2.0, -10.0, 10.0) == 2.0


def test_a_root_at_an_end_is_found() -> None:
    assert root(lambda x: x, 0.0, 5.0) == pytest.approx(0.0, abs=1e-13)


def test_a_coarse_answer_costs_fewer_calls() -> None:
    def calls(within: float) -> int:
        asked: list[float] = []

        def function(x: float) -> float:
            asked.append(x)
            return x**3 - 700.0

        root(function, 0.0, 100.0, within=within)
        return len(asked)

    assert calls(within=0.5) < calls(within=1e-14)
