"""`rookery match`, `rookery tune` and `rookery replay` as a person runs them."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.engines import planted
from tests.engines.matches import MOVER
from tests.forks import run_forked
from tests.places import IMPORTED, PROJECT
from tests.process_table import remaining_processes

pytestmark = pytest.mark.timeout(120)

PLANTED = Path(planted.__file__)
MATE_BOOK = f"{planted.FEN}\n"


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": IMPORTED}


def command(*words: object) -> list[str]:
    return [sys.executable, "-m", "rookery.cli.main", *map(str, words)]


def rookery(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    return run_forked(command(*words), cwd=folder, env=environment())


def engine(path: Path, *words: str) -> str:
    return shlex.join((sys.executable, str(path), *words))


def planted_match(folder: Path, *words: object) -> "subprocess.CompletedProcess[str]":
    """One-move games in which an engine wins the more often the better its options are."""
    book = folder / "mate.epd"
    book.write_text(MATE_BOOK)
    return rookery(
        folder, "match", "--tc", "N=1", "--book", book, "--concurrency", 2, "--json", *words
    )


BEST = ("--new-option", "P=100", "--new-option", "Q=60")
POOR = ("--base-option", "P=0", "--base-option", "Q=0")
SIDES = ("--new", engine(PLANTED), "--base", engine(PLANTED, "7"))


def test_a_better_engine_is_accepted(tmp_path: Path) -> None:
    ran = planted_match(tmp_path, *SIDES, *BEST, *POOR, "--sprt", 0, 50)
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["sprt"]["verdict"] == "accepted"
    assert said["sprt"]["llr"] > said["sprt"]["upper"]
    assert said["pentanomial"][3] > 10


def test_a_worse_engine_is_rejected(tmp_path: Path) -> None:
    better = [word.replace("new", "base") for word in BEST]
    worse = [word.replace("base", "new") for word in POOR]
    ran = planted_match(tmp_path, *SIDES, *better, *worse, "--sprt", 0, 50)
    assert ran.returncode == 1, ran.stderr
    assert json.loads(ran.stdout)["sprt"]["verdict"] == "rejected"


def test_games_run_out_before_a_verdict(tmp_path: Path) -> None:
    ran = planted_match(tmp_path, *SIDES, "--sprt", 0, 5, "--games", 4)
    assert ran.returncode == 4, ran.stderr


def test_a_match_without_a_test_prints_its_figures(tmp_path: Path) -> None:
    ran = rookery(
        tmp_path, "match", "--new", engine(MOVER), "--base", engine(MOVER, "--seed", "1"),
        "--tc", "N=1", "--games", 4, "--max-moves", 5, "--concurrency", 1, "--pgn", "games.pgn",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "Games   4 of 4" in ran.stdout
    assert "turnaround p50" in ran.stdout
    assert (tmp_path / "games.pgn").read_text().count('[Result "1/2-1/2"]') == 4
    assert list(tmp_path.glob("*.resume")) == []


def test_a_misspelt_option_is_noticed(tmp_path: Path) -> None:
    ran = planted_match(tmp_path, *SIDES, "--games", 2, "--new-option", "Hsah=1", "--option", "p=1")
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("has no option") == 1
    assert "warning: the engine new has no option Hsah\n" in ran.stderr


def test_several_engines_get_a_table(tmp_path: Path) -> None:
    book = tmp_path / "mate.epd"
    book.write_text(MATE_BOOK)
    best = ["--engine", f"cmd={engine(PLANTED)}", "name=best", "option.P=100", "option.Q=60"]
    poor = ["--engine", f"cmd={engine(PLANTED)}", "name=poor"]
    ran = rookery(
        tmp_path, "match", *best, *poor, *poor, "--tc", "N=1", "--book", book, "--games", 20,
        "--concurrency", 2, "--json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    table = json.loads(ran.stdout)["ratings"]
    assert table[0]["name"] == "best"
    assert {row["name"] for row in table} == {"best", "poor", "poor#2"}
    assert [row["games"] for row in table] == [40, 40, 40]


def test_an_interrupted_match_goes_on_where_it_was(tmp_path: Path) -> None:
    words = command(
        "match", "--new", engine(MOVER), "--base", engine(MOVER), "--tc", "N=1", "--games", 30,
        "--max-moves", 25, "--concurrency", 1, "--resume-file", "kept.resume",
    )  # fmt: skip
    first = subprocess.Popen(
        words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True
    )
    kept = tmp_path / "kept.resume"
    deadline = time.monotonic() + 60
    while not kept.exists() or kept.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    said, _ = first.communicate(timeout=60)
    assert first.returncode == 130
    assert "rookery match --resume kept.resume" in said
    assert remaining_processes(tmp_path) == {}
    before = kept.read_bytes().count(b"\n")
    assert before < 16
    second = rookery(tmp_path, "match", "--resume", "kept.resume", "--json")
    assert second.returncode == 0, second.stderr
    assert json.loads(second.stdout)["games"] == 30
    assert kept.read_bytes().count(b"\n") == 16


@pytest.mark.parametrize(
    "words",
    [
        ("--new", "x"),
        ("--new", "x", "--base", "y", "--tc", "soon"),
        ("--new", "x", "--base", "y", "--games", "3"),
        ("--new", "x", "--base", "y", "--sprt", "5", "0"),
        ("--new", "x", "--base", "y", "--book", "no.epd"),
        ("--engine", "name=x"),
        ("--engine", "x", "--engine", "y"),
        ("--engine", "cmd=x", "threads=many", "--engine", "cmd=y"),
        ("--new", "x", "--base", "y", "--margin=-1"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(tmp_path: Path, words: tuple[str, ...]) -> None:
    ran = rookery(tmp_path, "match", *words)
    assert ran.returncode == 2
    assert ran.stderr.startswith("rookery: ")
    assert len(ran.stderr.splitlines()) == 1


def test_an_engine_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    ran = rookery(tmp_path, "match", "--new", "./none", "--base", "./none", "--tc", "N=1")
    assert ran.returncode == 3
    assert "The engine new cannot play: ./none: No such file" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_failures_are_kept_with_their_last_lines(tmp_path: Path) -> None:
    bad = engine(MOVER, "--misdeed", "leave=1")
    ran = rookery(
        tmp_path, "match", "--new", bad, "--base", engine(MOVER), "--tc", "N=1", "--games", 2,
        "--concurrency", 1, "--failures", "failures.txt",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "2 games were lost by failing engines" in ran.stdout
    kept = (tmp_path / "failures.txt").read_text()
    assert kept.count("mover (new): ") == 2
    assert "< info string misdeed leave" in kept
    assert "! assertion failed: everything" in kept


def test_a_recorded_game_is_replayed(tmp_path: Path) -> None:
    made = rookery(
        tmp_path, "match", "--new", engine(MOVER), "--base", engine(MOVER, "--seed", "1"),
        "--tc", "N=1", "--games", 2, "--max-moves", 5, "--concurrency", 1, "--pgn", "games.pgn",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    same = rookery(tmp_path, "replay", "games.pgn", 2)
    assert (same.returncode, same.stdout) == (0, "All 10 moves are the same.\n"), same.stderr
    other = rookery(
        tmp_path, "replay", "games.pgn", 2, "--white", engine(MOVER, "--seed", "5"), "--json"
    )
    assert other.returncode == 1, other.stderr
    assert json.loads(other.stdout)["difference"]["ply"] % 2 == 1


def test_a_tune_climbs_towards_the_planted_optimum(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("P,90,0,200,4,0.05\nQ,60,0,200,4,0.05\n")
    (tmp_path / "mate.epd").write_text(MATE_BOOK)
    ran = rookery(
        tmp_path, "tune", "--engine", engine(PLANTED), "--parameters", "lines.txt", "--games", 600,
        "--tc", "N=1", "--book", "mate.epd", "--concurrency", 2, "--json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["pairs"] == 300
    assert float(said["values"]["P"]) > 90


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--games", 3), "--games must be even"),
        (("--games", 2), "Z: the engine has no such option"),
    ],
)
def test_a_tune_of_nothing_is_refused(
    tmp_path: Path, words: tuple[object, ...], complaint: str
) -> None:
    (tmp_path / "lines.txt").write_text("Z,90,0,200,4,0.05\n")
    (tmp_path / "mate.epd").write_text(MATE_BOOK)
    files = ("--parameters", "lines.txt", "--book", "mate.epd")
    ran = rookery(tmp_path, "tune", "--engine", engine(PLANTED), *files, *words)
    assert ran.returncode == 2
    assert complaint in ran.stderr
    assert not list(tmp_path.glob("*.resume"))


def test_what_is_no_game_is_not_replayed(tmp_path: Path) -> None:
    (tmp_path / "notes.pgn").write_text("nothing of the kind\n")
    ran = rookery(tmp_path, "replay", "notes.pgn", 1)
    assert ran.returncode == 3
    assert "has no moves: is it a PGN file?" in ran.stderr


@pytest.fixture
def fake_fastchess(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of that name on the PATH."""
    (tmp_path / "bin").mkdir()
    fake = PROJECT / "tests" / "engines" / "fake_fastchess.py"
    program = script(tmp_path / "bin" / "fastchess", fake)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    return program


def script(file: Path, module: Path) -> Path:
    """A program that needs no arguments: fastchess takes none with blanks, as a path may have."""
    command = shlex.join([sys.executable, str(module)])
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    file.chmod(0o755)
    return file


def mover_against_itself(folder: Path) -> tuple[str, ...]:
    mover = str(script(folder / "mover", MOVER))
    return "--new", mover, "--base", mover


@pytest.mark.usefixtures("fake_fastchess")
def test_fastchess_plays_where_it_is_asked_for(tmp_path: Path) -> None:
    sides = (*mover_against_itself(tmp_path), "--runner", "fastchess")
    ran = rookery(tmp_path, "match", *sides, "--option", "Hush=1", "--games", 6, "--json")
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout)
    assert said["pentanomial"] == [0, 0, 0, 3, 0]
    assert said["runner"] == "fastchess alpha 1.4.0"
    assert "warning: the engine new has no option Hush" in ran.stderr


@pytest.mark.usefixtures("fake_fastchess")
def test_a_verdict_ends_fastchess_too(tmp_path: Path) -> None:
    sides = (*mover_against_itself(tmp_path), "--runner", "fastchess")
    ran = rookery(tmp_path, "match", *sides, "--sprt", 0, 50, "--json")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["sprt"]["verdict"] == "accepted"


@pytest.mark.usefixtures("fake_fastchess")
def test_a_fastchess_that_nobody_asked_for_does_not_play(tmp_path: Path) -> None:
    ran = rookery(
        tmp_path, "match", *mover_against_itself(tmp_path), "--tc", "N=1", "--games", 2,
        "--max-moves", 5, "--pgn", "games.pgn",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "mover (new) against mover (base), played by the built-in runner" in ran.stdout
    assert "[WhiteCommand" in (tmp_path / "games.pgn").read_text()


@pytest.mark.usefixtures("fake_fastchess")
def test_a_match_that_goes_on_is_played_by_the_built_in_runner(tmp_path: Path) -> None:
    """What fastchess began, as it can't begin in the middle."""
    sides = (*mover_against_itself(tmp_path), "--runner", "fastchess", "--tc", "N=1")
    kept = tmp_path / "kept.resume"
    first = rookery(
        tmp_path, "match", *sides, "--games", 6, "--max-moves", 5, "--resume-file", kept
    )
    assert first.returncode == 0, first.stderr
    assert "played by fastchess alpha 1.4.0" in first.stdout
    lines = kept.read_text().splitlines()
    kept.write_text("\n".join(lines[:2]) + "\n")
    second = rookery(tmp_path, "match", "--resume", kept, "--json")
    assert second.returncode == 0, second.stderr
    said = json.loads(second.stdout)
    assert (said["games"], said["runner"]) == (6, "the built-in runner")
    assert "the built-in runner plays the rest" in second.stderr
    assert "the games so far" not in second.stderr


def test_fastchess_must_be_there_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = rookery(tmp_path, "match", "--new", "x", "--base", "y", "--runner", "fastchess")
    assert ran.returncode == 2
    assert "there is no fastchess on the PATH" in ran.stderr


def test_an_engine_that_says_nothing_is_named_while_it_is_waited_for(tmp_path: Path) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    match = subprocess.Popen(
        command("match", "--new", silent, "--base", silent),
        cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert match.stderr is not None
    said = match.stderr.readline()
    match.send_signal(signal.SIGINT)
    match.communicate(timeout=60)
    assert said == f"waiting for uciok of {silent}\n"
    assert match.returncode == 130
