"""What other bounds would have said."""

from rookery.stats.sprt import Sprt, Verdict, would_have

HISTORY = [(2, 11, 27, 19, 5), (4, 40, 110, 80, 22), (6, 60, 180, 150, 44), (9, 99, 260, 160, 50)]


def test_the_first_crossing_would_have_ended_the_test() -> None:
    seen = would_have(Sprt(0.0, 20.0), HISTORY)
    assert (seen.ending, seen.samples) == (Verdict.ACCEPTED, 256)


def test_without_a_crossing_the_last_results_count() -> None:
    seen = would_have(Sprt(0.0, 1.0), HISTORY)
    assert (seen.ending, seen.samples) == (Verdict.RUNNING, 578)
    assert seen.llr == Sprt(0.0, 1.0).log_ratio(HISTORY[-1])


def test_no_history_says_nothing() -> None:
    assert would_have(Sprt(0.0, 1.0), []).samples == 0
