"""How proofs are called by name, and what their pages say."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from scripts.filing import OUTPUT, VERDICTS, Page, file_verdict
from scripts.proofs.run import MINUTES, known, listing, main, wanted_by


def test_every_proof_has_a_usual_duration_and_is_listed_with_it() -> None:
    assert MINUTES.keys() == known().keys()
    shown = listing()
    assert all(f"{name} " in shown for name in known())


def test_names_may_be_written_with_hyphens() -> None:
    wanted = wanted_by(["fleet-kills", "--rounds", "16"])
    assert wanted
    assert (wanted.names, wanted.words) == (("fleet_kills",), ("--rounds", "16"))
    assert wanted.pages == OUTPUT


def test_several_run_in_the_order_they_are_named_in() -> None:
    wanted = wanted_by(["kills", "idle", "fuzz"])
    assert wanted
    assert wanted.names == ("kills", "idle", "fuzz")


def test_all_are_all() -> None:
    wanted = wanted_by(["all"])
    assert wanted
    assert set(wanted.names) == known().keys()


def test_without_a_name_only_the_list_is_wanted() -> None:
    assert wanted_by([]) is None
    assert wanted_by(["--list"]) is None


@pytest.mark.parametrize(
    "words", [["no-such"], ["kills", "idle", "--count"], ["kills", "idle", "no"]]
)
def test_what_is_no_proof_is_refused(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        wanted_by(words)
    assert "proof" in capsys.readouterr().err


IDLE = Page(
    "idle", "Does nothing.", "scripts/prove idle", "abc", datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
)


def test_a_page_tells_the_command_the_commit_the_date_and_how_long_it_took() -> None:
    lines = IDLE.text("figures\n", 90.0).splitlines()
    assert lines[:3] == ["# idle", "", "Does nothing."]
    assert lines[4].startswith("`scripts/prove idle` at abc, 2026-01-02 03:04 UTC, 1.5 min on ")
    assert lines[6] == "figures"


def test_a_verdict_takes_the_place_of_the_last_one_and_leaves_the_others(tmp_path: Path) -> None:
    table = tmp_path / "proofs.md"
    head, kills, end = "# Proofs\n\n| proof |\n|---|\n", "| kills | held |\n", "\nEnd.\n"
    table.write_text(f"{head}| idle | held; 9% |\n{kills}{end}")
    file_verdict(IDLE, table, "figures\nverdict: 1% of a core\nmore\n", 90.0)
    row = "| idle | Does nothing. | held; 1% of a core | abc, 2026-01-02, 1.5 min |"
    assert table.read_text().startswith(f"{head}{row}")
    assert table.read_text().endswith(f"|\n{kills}{end}")


def test_every_proof_that_was_run_has_one_verdict() -> None:
    rows = [line for line in VERDICTS.read_text().splitlines() if line.startswith("| ")][1:]
    names = [row.split("|")[1].strip() for row in rows]
    assert sorted(set(names)) == names
    assert set(names) <= known().keys()


@pytest.mark.parametrize(("name", "word"), [("syzygy", "tables"), ("sprt", "--tests")])
def test_asking_a_proof_for_help_files_no_page(
    name: str,
    word: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", ["prove", "--pages", str(tmp_path), name, "--help"])
    assert main() == 0
    assert word in capfd.readouterr().out
    assert not [*tmp_path.iterdir()]
