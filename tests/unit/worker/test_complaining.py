"""How failures are told."""

from rookery.worker.reporting import CUT, shorten_log


def test_a_short_log_is_told_in_full() -> None:
    assert shorten_log("error", 100) == "error"


def test_a_long_log_keeps_its_head_and_its_end() -> None:
    told = shorten_log("a" * 500 + "b" * 500, 100)
    assert len(told) == 100
    assert told.startswith("a" * 75 + CUT)
    assert told.endswith("b")
