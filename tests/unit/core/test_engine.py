"""Engine records hold the numbers that belong to an engine."""

import pytest

from rookery.core.engine import STANDARD, STOCKFISH, Engine, time_factor


def test_stockfishs_record_holds_the_protocols_numbers() -> None:
    assert STOCKFISH.speed.reference == 628_000
    assert STOCKFISH.speed.least(1) == 180_000
    assert STOCKFISH.memory.machine == 444


def test_many_cores_may_be_slower_each() -> None:
    assert STOCKFISH.speed.least(64) == pytest.approx(45_000, rel=1e-3)


def test_an_engine_without_a_floor_is_never_too_slow() -> None:
    assert Engine("Slowmate").speed.least(8) == 0


def test_an_unknown_engine_gets_a_modest_record() -> None:
    assert STANDARD.record("Novice") == Engine("Novice")
    assert STANDARD.record("Stockfish") is STOCKFISH


def test_a_slow_machine_thinks_longer() -> None:
    assert time_factor(628_000, 314_000) == 2
    assert time_factor(628_000, 0) == 1
