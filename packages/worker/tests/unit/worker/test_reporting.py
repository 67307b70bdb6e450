"""The heartbeat, the games of a task, and what is told of failures."""

import gzip
import threading
from pathlib import Path

import chess

from rookery.core.http_failures import CallRefused, NoAnswer
from rookery.match.job import GameEnded, GameResult, PlayedMove, Termination
from rookery.worker.reporting import CUT, EngineFailures, GameFile, Heartbeat, shorten_log
from tests.unit.worker.test_assignment import granted

LIMIT_SECONDS = 60


def test_it_beats_when_nothing_else_is_heard() -> None:
    twice = threading.Semaphore(0)

    def beat() -> bool:
        twice.release()
        return True

    with Heartbeat(beat, lambda: None, period=0.0, tick=0.001):
        assert all(twice.acquire(timeout=LIMIT_SECONDS) for _ in range(2))


def test_a_task_that_is_not_alive_is_lost() -> None:
    lost = threading.Event()
    with Heartbeat(lambda: False, lost.set, period=0.0, tick=0.001) as heart:
        assert lost.wait(LIMIT_SECONDS)
        assert heart.stopped


def test_a_refused_beat_ends_the_task() -> None:
    def refuse() -> bool:
        raise CallRefused

    lost = threading.Event()
    with Heartbeat(refuse, lost.set, period=0.0, tick=0.001):
        assert lost.wait(LIMIT_SECONDS)


def test_an_unheard_beat_is_followed_by_another() -> None:
    tries = threading.Semaphore(0)

    def fail() -> bool:
        tries.release()
        raise NoAnswer

    lost = threading.Event()
    with Heartbeat(fail, lost.set, period=0.0, tick=0.001):
        assert all(tries.acquire(timeout=LIMIT_SECONDS) for _ in range(3))
    assert not lost.is_set()


def test_a_silent_heart_says_nothing() -> None:
    beats: list[str] = []

    def beat() -> bool:
        beats.append("beat")
        return True

    with Heartbeat(beat, lambda: None, period=1000.0, tick=0.001) as heart:
        heart.heard()
    assert beats == []


def ended(pair: int = 0, failed: str = "") -> GameEnded:
    result = GameResult(
        white="New-a",
        black="Base-b",
        fen=chess.STARTING_FEN,
        book_moves=(),
        moves=(PlayedMove("e2e4", score="+0.10", depth=3),),
        result="0-1",
        termination=Termination.CRASH if failed else Termination.NORMAL,
        reason="it ended",
        failed=failed,
        lines=("> go", "< ..."),
    )
    return GameEnded(pair, 0, result)


def text_of(games: GameFile) -> str:
    packed = games.packed()
    assert packed is not None
    return gzip.decompress(packed).decode()


def test_games_are_packed_with_their_event_and_site(tmp_path: Path) -> None:
    games = GameFile(tmp_path / "a.pgn", granted(), "https://farm.org")
    games.add(ended(0))
    games.add(ended(1))
    text = text_of(games)
    assert '[Event "Batch 0: patch vs master"]' in text
    assert '[Site "https://farm.org/tests/view/' in text
    assert text.count("[Round ") == 2


def test_a_run_may_want_moves_alone_or_nothing(tmp_path: Path) -> None:
    moves = GameFile(tmp_path / "a.pgn", granted(pgn_detail="moves"), "")
    moves.add(ended())
    assert "1. e4 0-1" in text_of(moves)
    nothing = GameFile(tmp_path / "b.pgn", granted(pgn_detail="none"), "")
    nothing.add(ended())
    assert nothing.packed() is None


def test_a_disk_that_takes_no_more_ends_the_record_alone(tmp_path: Path) -> None:
    games = GameFile(tmp_path / "no such folder" / "a.pgn", granted(), "")
    games.add(ended())
    assert games.packed() is None


def test_failures_are_told_less_and_less_often() -> None:
    mishaps = EngineFailures()
    told = [bool(mishaps.noted(ended(number, failed="New-a"))) for number in range(8)]
    assert told == [True, True, False, True, False, False, False, True]


def test_a_failure_is_told_with_the_last_lines_and_the_game() -> None:
    said = EngineFailures().noted(ended(4, failed="New-a"))
    assert said.startswith("New-a lost by abandoned for the 1st time (pair 5, game 1): it ended")
    assert "> go\n< ..." in said
    assert "e2e4" in said


def test_a_short_log_is_told_in_full() -> None:
    assert shorten_log("error", 100) == "error"


def test_a_long_log_keeps_its_head_and_its_end() -> None:
    told = shorten_log("a" * 500 + "b" * 500, 100)
    assert len(told) == 100
    assert told.startswith("a" * 75 + CUT)
    assert told.endswith("b")
