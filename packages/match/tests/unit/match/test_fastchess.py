"""fastchess is recognised by what it says; its lines of output become events."""

from pathlib import Path

import pytest

from rookery.match.fastchess import (
    FastchessComplaint,
    FastchessFinished,
    FastchessProgram,
    FastchessStarted,
    find_fastchess,
    parse_version,
    read_fastchess_line,
    termination_of,
)
from rookery.match.job import Termination


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


def test_a_game_that_begins_is_told_with_its_players() -> None:
    line = "Started game 3 of 80 (New-a1 vs Base-b2)\n"
    assert read_fastchess_line(line) == FastchessStarted(3, "New-a1", "Base-b2")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--------------------------------------------------",
        "Indexing opening suite...",
        "Results of New-a1 vs Base-b2 (10+0.1, 1t, 16MB, UHO.epd):",
        "Elo: 12.20 +/- 40.11, nElo: 20.00 +/- 60.00",
        "LOS: 72.00 %, DrawRatio: 33.33 %, PairsRatio: 2.00",
        "Games: 12, Wins: 5, Losses: 3, Draws: 4, Points: 7.0 (58.33 %)",
        "Ptnml(0-2): [1, 0, 3, 1, 1], WL/DD Ratio: 2.00",
        "LLR: 0.22 (-2.94, 2.94) [0.00, 5.00]",
        "Player: New-a1",
        "  Timeouts: 2",
        "  Crashed: 1",
        "Tournament finished",
        "Finished match",
        "From; position startpos moves e2e4",
        "Finished game x",
        "Saved results.",
        "Info; info depth 9 score cp 3 pv e2e4",
        "Position; startpos",
        "Moves; e2e4 e7e5",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert read_fastchess_line(line) is None


def finished(result: str, reason: str) -> FastchessFinished:
    news = read_fastchess_line(f"Finished game 4 (Base vs New): {result} {{{reason}}}\n")
    assert isinstance(news, FastchessFinished)
    return news


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("White mates", Termination.NORMAL),
        ("Draw by stalemate", Termination.NORMAL),
        ("Draw by 3-fold repetition", Termination.NORMAL),
        ("Draw by fifty moves rule", Termination.NORMAL),
        ("Draw by insufficient mating material", Termination.NORMAL),
        ("White wins by adjudication", Termination.ADJUDICATION),
        ("Draw by adjudication: SyzygyTB", Termination.ADJUDICATION),
        ("Black loses on time", Termination.TIME),
        ("Black loses on time (12ms overrun)", Termination.TIME),
        ("Black disconnects", Termination.CRASH),
        ("Black's connection stalls", Termination.STALL),
        ("Black makes an illegal move", Termination.ILLEGAL),
        ("Black makes an illegal move: e2e5", Termination.ILLEGAL),
        ("Something new", Termination.NORMAL),
    ],
)
def test_every_reason_is_known(reason: str, kind: Termination) -> None:
    assert termination_of(reason) is kind


def test_a_finished_game_says_who_played_and_why_it_ended() -> None:
    assert finished("1-0", "White mates") == FastchessFinished(
        4, "Base", "New", "1-0", Termination.NORMAL, "White mates"
    )


@pytest.mark.parametrize(
    ("result", "failed"), [("1-0", "New"), ("0-1", "Base"), ("1/2-1/2", ""), ("*", "")]
)
def test_who_failed_follows_from_the_result(result: str, failed: str) -> None:
    assert finished(result, "Black disconnects").failed == failed


@pytest.mark.parametrize(
    ("reason", "failed"),
    [
        ("Black loses on time", "New"),
        ("Black's connection stalls", "New"),
        ("Black makes an illegal move", "New"),
        ("White mates", ""),
        ("White wins by adjudication", ""),
    ],
)
def test_only_what_a_sound_engine_does_not_do_is_a_failure(reason: str, failed: str) -> None:
    assert finished("1-0", reason).failed == failed


@pytest.mark.parametrize(
    "text",
    [
        "Engine New disconnects",
        "Engine New didn't respond to uci.",
        "Illegal move e2e5 played by New",
        "Illegal PV move - move a1a1 from New :: Info; info depth 1 :: Moves; e2e4",
        "Invalid value for option Hash; -16",
        "No opening book specified!",
        "failed to start engine New",
    ],
)
@pytest.mark.parametrize(
    "frame",
    ["Warning; {}", "Warning: {}", "[WARN  ] [12:00:00.000001] <  5> fastchess --- Warning; {}"],
)
def test_a_warning_ends_no_match(frame: str, text: str) -> None:
    assert read_fastchess_line(frame.format(text)) is None


def test_an_engine_that_does_not_answer_is_a_warning() -> None:
    assert read_fastchess_line("Engine New is not responsive") is None


@pytest.mark.parametrize(
    "line",
    [
        "Game 7 stalled, stopping tournament.",
        "Error; no TimeControl specified!",
        "Engine not found at: /nowhere",
        "No openings found in file: a.epd",
        'Error while reading option "-openings" with value "start=1"',
        "Reason: Opening file does not exist: a.epd",
        'Fatal; New engine startup failure: "no answer to uci"',
        "Engine binary does not exist: /nowhere",
        "Failed to set position from opening book, invalid FEN or EPD: x",
        "Unrecognized option: -x parsing failed.",
    ],
)
def test_what_ends_a_match_is_told_as_it_was_said(line: str) -> None:
    assert read_fastchess_line(line) == FastchessComplaint(line)


def test_an_interruption_does_not_repeat_how_fastchess_would_go_on() -> None:
    line = "Tournament was interrupted. To resume the tournament, run: fastchess -config file=x"
    assert read_fastchess_line(line) == FastchessComplaint("Tournament was interrupted")
