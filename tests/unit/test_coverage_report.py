"""How the figures of coverage are added up, and compared with those of before."""

import json
import subprocess
from pathlib import Path

import pytest

from scripts.coverage_report import Unmet, add_up, judge, kept


def figures(folder: Path, tier: str, executed: list[int], missing: list[int]) -> Path:
    lines = {"executed_lines": executed, "missing_lines": missing}
    path = folder / f"{tier}.json"
    path.write_text(json.dumps({"files": {"src/rookery/a.py": lines}}))
    return path


def test_a_line_counts_that_any_tier_ran(tmp_path: Path) -> None:
    unit = figures(tmp_path, "unit", [1, 2], [3, 4])
    wire = figures(tmp_path, "wire", [1, 3], [2, 4])
    assert add_up([unit, wire]) == {"src/rookery/a.py": ({1, 2, 3}, {1, 2, 3, 4})}


def test_a_tier_that_was_not_measured_is_named(tmp_path: Path) -> None:
    with pytest.raises(Unmet, match="wire"):
        add_up([figures(tmp_path, "unit", [1], []), tmp_path / "wire.json"])


def test_what_was_reached_before_is_enough() -> None:
    assert judge(67.3, 67.4, [67.4, 67.2]) == "as before (67.4 %)"


def test_fewer_lines_than_the_last_commit_tested_are_refused() -> None:
    with pytest.raises(Unmet, match=r"67\.0 % instead of 67\.4 %"):
        judge(67.0, 67.4, [67.4])


def test_the_figure_that_was_reached_can_not_be_lowered() -> None:
    """It is compared with the last commit's and, where that lowered it, with the one before."""
    for before in ([67.4, 67.4], [60.0, 67.4]):
        with pytest.raises(Unmet, match=r"coverage\.txt says 60\.0 %, but"):
            judge(67.5, 60.0, before)


def test_a_better_figure_is_to_be_kept() -> None:
    assert judge(70.04, 67.4, []).endswith("write 70.0 into scripts/coverage.txt")


def test_the_figures_of_the_last_commits_are_read_from_git(tmp_path: Path) -> None:
    person = ("-c", "user.name=olga", "-c", "user.email=olga@example.org")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    file = tmp_path / "scripts" / "coverage.txt"
    file.parent.mkdir()
    assert kept(tmp_path) == []
    for figure in ("67.4", "68.0"):
        file.write_text(figure)
        subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
        subprocess.run(["git", *person, "commit", "-qm", figure], cwd=tmp_path, check=True)
    assert kept(tmp_path) == [68.0, 67.4]
