"""How many games at a time."""

from pathlib import Path

import pytest

from rookery.match.processors import (
    BadConcurrency,
    physical_cores,
    read_concurrency,
    usable_processors,
)


def test_numbers_and_expressions() -> None:
    assert read_concurrency("7") == 7
    assert read_concurrency("max*3") == 3 * usable_processors()
    assert read_concurrency("PHYS") == physical_cores()


@pytest.mark.parametrize("text", ["", "0", "MAX-100000", "two", "MAX+", "-1", "9999", "1; ls"])
def test_what_is_no_number_of_games_is_refused(text: str) -> None:
    with pytest.raises(BadConcurrency):
        read_concurrency(text)


def test_a_containers_quota_counts(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    quota.write_text("100000 100000\n")
    assert usable_processors(quota) == 1
    quota.write_text("max 100000\n")
    assert usable_processors(quota) == usable_processors(tmp_path / "none")
