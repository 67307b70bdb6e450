"""Lines of output become events. The lines are our own, in the form that fastchess documents."""

import pytest

from rookery.match.fastchess_output import (
    CrashesCounted,
    Ending,
    Event,
    Failed,
    GameFinished,
    GameStarted,
    MatchFinished,
    Outcome,
    Pairs,
    PlayerNamed,
    ReportBegun,
    Score,
    TimeoutsCounted,
    Trouble,
    Warned,
    ending,
    read,
)


@pytest.mark.parametrize(
    ("line", "event"),
    [
        ("Started game 3 of 80 (New-a1 vs Base-b2)", GameStarted(3, 80, "New-a1", "Base-b2")),
        (
            "Results of New-a1 vs Base-b2 (10+0.1, 1t, 16MB, UHO.epd):",
            ReportBegun("New-a1", "Base-b2"),
        ),
        ("Results of A vs B (500 nodes - 400 nodes, NULL, NULL):", ReportBegun("A", "B")),
        ("Games: 12, Wins: 5, Losses: 3, Draws: 4, Points: 7.0 (58.33 %)", Score(12, 5, 3, 4)),
        ("Ptnml(0-2): [1, 0, 3, 1, 1], WL/DD Ratio: 2.00", Pairs((1, 0, 3, 1, 1))),
        ("Ptnml(0-2): [0, 0, 1, 0, 0], WL/DD Ratio: -nan", Pairs((0, 0, 1, 0, 0))),
        ("Ptnml(0-2): [0, 0, 1, 0, 0]", Pairs((0, 0, 1, 0, 0))),
        ("Player: New-a1", PlayerNamed("New-a1")),
        ("  Timeouts: 2", TimeoutsCounted(2)),
        ("  Crashed: 1", CrashesCounted(1)),
        ("Tournament finished", MatchFinished()),
        ("Finished match", MatchFinished()),
        ("Game 7 stalled, stopping tournament.", Failed("Game 7 stalled, stopping tournament.")),
        ("Error; no TimeControl specified!", Failed("Error; no TimeControl specified!")),
        ("Engine not found at: /nowhere", Failed("Engine not found at: /nowhere")),
        ("No openings found in file: a.epd", Failed("No openings found in file: a.epd")),
    ],
)
def test_lines_tell_events(line: str, event: Event) -> None:
    assert read(line + "\n") == event


@pytest.mark.parametrize(
    "line",
    [
        "",
        "--------------------------------------------------",
        "Indexing opening suite...",
        "Elo: 12.20 +/- 40.11, nElo: 20.00 +/- 60.00",
        "LOS: 72.00 %, DrawRatio: 33.33 %, PairsRatio: 2.00",
        "LLR: 0.22 (-2.94, 2.94) [0.00, 5.00]",
        "From; position startpos moves e2e4",
        "Finished game x",
        "Saved results.",
    ],
)
def test_other_lines_tell_nothing(line: str) -> None:
    assert read(line) is None


def finished(result: str, reason: str) -> GameFinished:
    event = read(f"Finished game 4 (Base vs New): {result} {{{reason}}}\n")
    assert isinstance(event, GameFinished)
    return event


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("White mates", Ending.CHECKMATE),
        ("Draw by stalemate", Ending.STALEMATE),
        ("Draw by 3-fold repetition", Ending.REPETITION),
        ("Draw by fifty moves rule", Ending.FIFTY_MOVES),
        ("Draw by insufficient mating material", Ending.INSUFFICIENT_MATERIAL),
        ("White wins by adjudication", Ending.ADJUDICATION),
        ("Draw by adjudication: SyzygyTB", Ending.ADJUDICATION),
        ("Black loses on time", Ending.TIME),
        ("Black loses on time (12ms overrun)", Ending.TIME),
        ("Black disconnects", Ending.CRASH),
        ("Black's connection stalls", Ending.STALL),
        ("Black makes an illegal move", Ending.ILLEGAL_MOVE),
        ("Black makes an illegal move: e2e5", Ending.ILLEGAL_MOVE),
        ("Something new", Ending.OTHER),
    ],
)
def test_every_reason_is_known(reason: str, kind: Ending) -> None:
    assert ending(reason) is kind


def test_a_finished_game_says_who_played_and_why_it_ended() -> None:
    assert finished("1-0", "White mates") == GameFinished(
        4, "Base", "New", Outcome.WHITE_WINS, Ending.CHECKMATE, "White mates"
    )


@pytest.mark.parametrize(
    ("result", "loser"), [("1-0", "New"), ("0-1", "Base"), ("1/2-1/2", None), ("*", None)]
)
def test_the_loser_follows_from_the_result(result: str, loser: str | None) -> None:
    assert finished(result, "Black disconnects").loser == loser


def test_a_game_without_a_result_was_interrupted() -> None:
    assert finished("*", "No result").ending is Ending.INTERRUPTED


def test_only_what_a_sound_engine_does_not_do_is_a_fault() -> None:
    assert {kind for kind in Ending if kind.is_fault} == {
        Ending.TIME,
        Ending.CRASH,
        Ending.STALL,
        Ending.ILLEGAL_MOVE,
    }


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("Engine New loses on time", Trouble.TIME),
        ("Engine New disconnects", Trouble.CRASH),
        ("Engine New's connection stalls", Trouble.STALL),
        ("Engine New didn't respond to uci.", Trouble.STALL),
        ("Illegal move e2e5 played by New", Trouble.ILLEGAL_MOVE),
        ("Illegal pv move e2e5 pv; info depth 3", Trouble.BAD_LINE),
        ("No opening book specified!", Trouble.OTHER),
    ],
)
@pytest.mark.parametrize(
    "frame",
    ["Warning; {}", "Warning: {}", "[WARN  ] [12:00:00.000001] <  5> fastchess --- Warning; {}"],
)
def test_warnings_say_what_they_are_about(frame: str, text: str, trouble: Trouble) -> None:
    assert read(frame.format(text)) == Warned(trouble, text)


def test_an_engine_that_does_not_answer_is_a_warning() -> None:
    line = "Engine New is not responsive"
    assert read(line) == Warned(Trouble.STALL, line)


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ("Illegal PV move - move a1a1 from New", Trouble.BAD_LINE),
        ("PV continues after threefold repetition - move a1a2 from New", Trouble.BAD_LINE),
        ("PV continues after checkmate - move a1a2 from New", Trouble.BAD_LINE),
        ("Incomplete mating PV - from New", Trouble.BAD_LINE),
        ("Bestmove does not match beginning of last PV - move e2e4 from New", Trouble.BAD_LINE),
        ("New doesn't have option Hush", Trouble.OPTION),
        ("Invalid value for option Hash; -16", Trouble.OPTION),
        ("Move does not match uci move format. Move E2E4 played by New", Trouble.ILLEGAL_MOVE),
        ("Illegal move <none> played by New", Trouble.ILLEGAL_MOVE),
        ("Engine New is not responsive", Trouble.STALL),
    ],
)
def test_warnings_of_newer_versions_are_known(text: str, trouble: Trouble) -> None:
    assert read(f"Warning; {text}") == Warned(trouble, text)


def test_the_parts_of_a_warning_may_come_in_one_line() -> None:
    line = "Warning; Illegal PV move - move a1a1 from New :: Info; info depth 1 :: Moves; e2e4"
    event = read(line)
    assert isinstance(event, Warned)
    assert event.trouble is Trouble.BAD_LINE


@pytest.mark.parametrize(
    "line",
    ["Info; info depth 9 score cp 3 pv e2e4", "Position; startpos", "Moves; e2e4 e7e5"],
)
def test_what_explains_a_warning_tells_nothing_new(line: str) -> None:
    assert read(line) is None


@pytest.mark.parametrize(
    "line",
    [
        'Error while reading option "-openings" with value "start=1"',
        "Reason: Opening file does not exist: a.epd",
        'Fatal; New engine startup failure: "no answer to uci"',
        "Engine binary does not exist: /nowhere",
        "Failed to set position from opening book, invalid FEN or EPD: x",
        "Unrecognized option: -x parsing failed.",
    ],
)
def test_what_ends_a_match_is_told_as_it_was_said(line: str) -> None:
    assert read(line) == Failed(line)


def test_an_interruption_does_not_repeat_how_fastchess_would_go_on() -> None:
    line = "Tournament was interrupted. To resume the tournament, run: fastchess -config file=x"
    assert read(line) == Failed("Tournament was interrupted")
