"""`rookery demo seed`, as a person would call it."""

from pathlib import Path

from tests.commands import run_command

SMALL = ("demo", "seed", "--runs", "3", "--machines", "5", "--history", "2")


def test_only_an_empty_farm_is_filled(tmp_path: Path) -> None:
    data = tmp_path / "farm"
    first = run_command(*SMALL, data=data)
    assert first.returncode == 0, first.stderr
    assert "Wrote 2 finished runs and 3 others with 5 machines." in first.stdout
    second = run_command(*SMALL, data=data)
    assert second.returncode == 3
    assert "a demo needs an empty one" in second.stderr
