"""The line of search information that counts."""

from hypothesis import given
from hypothesis import strategies as st

from rookery.match.engine_output import Score, SearchInfo, read_info


def test_a_whole_line_is_read() -> None:
    line = b"info depth 12 seldepth 20 score cp -31 nodes 4711 nps 900 time 5 pv e2e4 e7e5"
    assert read_info(line) == SearchInfo(Score(-31), 12, 20, 4711, 900, ("e2e4", "e7e5"))


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
