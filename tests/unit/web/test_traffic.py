"""Requests are counted by route, method and status."""

from rookery.web.metrics import BOUNDS, Tally, Traffic


def test_answers_of_one_kind_are_counted_together() -> None:
    traffic = Traffic()
    traffic.note("/a", "GET", 200, 0.5)
    traffic.note("/a", "GET", 200, 0.25)
    traffic.note("/a", "GET", 404, 0.1)
    counted = {key: (tally.count, tally.seconds) for key, tally in traffic.tallies()}
    assert counted == {("/a", "GET", 200): (2, 0.75), ("/a", "GET", 404): (1, 0.1)}


def test_a_time_falls_into_the_first_bucket_that_holds_it() -> None:
    traffic = Traffic()
    for seconds in (BOUNDS[0], BOUNDS[0] * 1.01, BOUNDS[-1] + 1):
        traffic.note("/", "GET", 200, seconds)
    [(_, tally)] = traffic.tallies()
    assert [tally.buckets[0], tally.buckets[1], tally.buckets[-1]] == [1, 1, 1]


def test_what_was_handed_out_does_not_change_any_more() -> None:
    traffic = Traffic()
    traffic.note("/", "GET", 200, 1)
    [(_, before)] = traffic.tallies()
    traffic.note("/", "GET", 200, 1)
    assert before.count == 1


def test_tallies_add_up() -> None:
    one = Tally()
    one.buckets[0] = 2
    one.seconds = 1.0
    total = one + one
    assert (total.count, total.seconds) == (4, 2.0)
