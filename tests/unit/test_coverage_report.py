"""How the tiers' figures of coverage are added up."""

import json
from pathlib import Path

import pytest

from scripts.coverage_report import Unmet, add_up


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
