"""Bytes from an engine become lines."""

from rookery.worker.match.lines import MOST_LINE_BYTES, Lines, has_score


def test_a_line_may_come_in_pieces() -> None:
    lines = Lines()
    assert lines.feed(b"read") == []
    assert lines.feed(b"yok\nbest") == [b"readyok"]
    assert lines.feed(b"move e2e4\n") == [b"bestmove e2e4"]


def test_many_lines_may_come_at_once() -> None:
    assert Lines().feed(b"a\nb\n\nc\n") == [b"a", b"b", b"", b"c"]


def test_an_endless_line_is_dropped_and_the_next_one_is_read() -> None:
    lines = Lines()
    for _ in range(3):
        assert lines.feed(b"x" * MOST_LINE_BYTES) == []
    assert lines.feed(b"xxx\nreadyok\n") == [b"readyok"]


def test_only_the_main_variation_has_the_score() -> None:
    assert has_score(b"info depth 9 score cp 12 pv e2e4")
    assert has_score(b"info depth 9 multipv 1 score mate -3")
    assert not has_score(b"info depth 9 multipv 2 score cp 12")
    assert not has_score(b"info string score cheap")
    assert not has_score(b"info depth 9 currmove e2e4")
