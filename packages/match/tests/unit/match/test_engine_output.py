"""Bytes from an engine become lines, and lines of search information become scores."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.match.engine_output import (
    MOST_LINE_BYTES,
    LastScore,
    LineSplitter,
    Score,
    SearchInfo,
    has_score,
    read_info,
)


def test_a_line_may_come_in_pieces() -> None:
    lines = LineSplitter()
    assert lines.feed(b"read") == []
    assert lines.feed(b"yok\nbest") == [b"readyok"]
    assert lines.feed(b"move e2e4\n") == [b"bestmove e2e4"]


def test_many_lines_may_come_at_once() -> None:
    assert LineSplitter().feed(b"a\nb\n\nc\n") == [b"a", b"b", b"", b"c"]


def test_an_endless_line_is_dropped_and_the_next_one_is_read() -> None:
    lines = LineSplitter()
    for _ in range(3):
        assert lines.feed(b"x" * MOST_LINE_BYTES) == []
    assert lines.feed(b"xxx\nreadyok\n") == [b"readyok"]


def test_only_the_main_variation_has_the_score() -> None:
    assert has_score(b"info depth 9 score cp 12 pv e2e4")
    assert has_score(b"info depth 9 multipv 1 score mate -3")
    assert not has_score(b"info depth 9 multipv 2 score cp 12")
    assert not has_score(b"info string score cheap")
    assert not has_score(b"info depth 9 currmove e2e4")


EXACT = b"info depth 8 score cp 12 pv e2e4"
BOUND = b"info depth 9 score cp 40 lowerbound pv e2e4"
LATER = b"info depth 9 score cp 30 upperbound pv e2e4"


def last_score(*readings: list[bytes]) -> bytes:
    score = LastScore()
    for lines in readings:
        score.feed(lines)
    return score.line


def test_an_exact_score_counts_more_than_a_later_bound() -> None:
    assert last_score([EXACT, BOUND]) == EXACT
    assert last_score([EXACT], [BOUND, b"bestmove e2e4"]) == EXACT
    assert last_score([BOUND], [EXACT]) == EXACT


def test_without_an_exact_score_the_last_bound_counts() -> None:
    assert last_score([BOUND, LATER]) == LATER
    assert last_score([BOUND], [LATER]) == LATER


def test_without_any_score_there_is_no_line() -> None:
    assert last_score([b"info string hello", b"bestmove e2e4"]) == b""


def test_a_whole_line_is_read() -> None:
    line = b"info depth 12 seldepth 20 score cp -31 nodes 4711 nps 900 time 5 pv e2e4 e7e5"
    assert read_info(line) == SearchInfo(Score(-31), 12, 4711, 900, ("e2e4", "e7e5"))


def test_a_mate_is_counted_in_plies_when_written() -> None:
    assert str(Score(3, mate=True)) == "+M5"
    assert str(Score(-3, mate=True)) == "-M6"
    assert str(Score(15)) == "+0.15"


def test_a_bound_is_still_a_score() -> None:
    assert read_info(b"info depth 3 score cp 5 lowerbound nodes 7").score == Score(5)


def test_numbers_that_are_none_are_passed_over() -> None:
    assert read_info(b"info depth x score cp nodes") == SearchInfo()


@given(st.binary(max_size=200))
def test_nothing_an_engine_writes_breaks_the_reading(noise: bytes) -> None:
    read_info(b"info score " + noise)
