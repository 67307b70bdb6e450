"""A small run of the long proof: seeded, so that it says the same every time."""

from pathlib import Path

import pytest

from scripts.proofs import sprt as proof

# Wide bounds make short tests, so a few hundred of them take a second.
SMALL = ["--elo1", "50", "--tests", "60", "--outlooks", "3", "--seed", "small"]


def test_a_small_proof_holds_and_prints_its_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert proof.main([*SMALL, "--progress", str(tmp_path / "p.json")]) == 0
    shown = capsys.readouterr().out
    assert shown.count("| 60 |") == 8
    assert shown.count("| 90 to 100 % |") == 3


def test_an_interrupted_proof_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    asked: list[str] = []

    def one(seed: str) -> list[list[float]]:
        asked.append(seed)
        return [[float(len(seed))]]

    first = proof.Progress(path).chunk(["x/0", "x/10"], one)
    assert proof.Progress(path).chunk(["x/0", "x/10"], one) == first == [[3.0], [4.0]]
    assert asked == ["x/0", "x/10"]


def test_a_finished_proof_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    progress = proof.Progress(path)
    progress.chunk(["x/0"], lambda _seed: [[1.0]])
    progress.finish()
    assert not path.exists()


def test_wilsons_interval_is_the_textbook_one() -> None:
    assert proof.wilson(5, 100) == pytest.approx((0.0215, 0.1118), abs=1e-4)
