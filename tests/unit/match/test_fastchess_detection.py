"""fastchess is recognised by what it says about itself."""

from pathlib import Path

import pytest

from rookery.match.fastchess import FastchessProgram, find_fastchess, parse_version


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("fastchess alpha 1.8.1 20260720-daa3ea2\n", (1, 8, 1)),
        ("fast-chess alpha 0.8.2\n", (0, 8, 2)),
        ("Fastchess v2.0\n", (2, 0)),
    ],
)
def test_the_version_is_read(said: str, version: tuple[int, ...]) -> None:
    assert parse_version("/bin/fastchess", said) == FastchessProgram(
        "/bin/fastchess", version, said.strip()
    )


def test_another_program_is_not_taken_for_it() -> None:
    assert parse_version("/bin/other", "cutechess-cli 1.3.1\n") is None


def test_an_old_one_is_told_from_a_recent_one() -> None:
    old, recent = (FastchessProgram("f", version, "") for version in ((0, 9), (1, 8, 1)))
    assert (old.is_recent, recent.is_recent) == (False, True)


def script(folder: Path, text: str) -> str:
    program = folder / "fastchess"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return str(program)


def test_it_is_found_by_its_path(tmp_path: Path) -> None:
    path = script(tmp_path, "echo fastchess alpha 1.8.1")
    assert find_fastchess(path) == FastchessProgram(path, (1, 8, 1), "fastchess alpha 1.8.1")


def test_the_older_way_to_ask_is_tried_too(tmp_path: Path) -> None:
    path = script(tmp_path, 'test "$1" = --version && echo fastchess alpha 1.4.0')
    found = find_fastchess(path)
    assert found is not None
    assert found.version == (1, 4, 0)


def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    assert find_fastchess(str(tmp_path / "fastchess")) is None


def test_a_program_that_can_not_run_is_not_found(tmp_path: Path) -> None:
    broken = tmp_path / "fastchess"
    broken.write_bytes(b"\x7fELF not really")
    broken.chmod(0o755)
    assert find_fastchess(str(broken)) is None
