"""Requests are counted by route, method and status."""

from rookery.server.http.traffic import BOUNDS, Traffic


def test_answers_of_one_kind_are_counted_together() -> None:
    traffic = Traffic()
    traffic.note("/a", "GET", 200, 0.5)
    traffic.note("/a", "GET", 200, 0.25)
    traffic.note("/a", "GET", 404, 0.1)
    assert traffic.answers() == {("/a", "GET", 200): 2, ("/a", "GET", 404): 1}
    assert traffic.times()["/a"].seconds == 0.5 + 0.25 + 0.1


def test_a_time_falls_into_the_first_bucket_that_holds_it() -> None:
    traffic = Traffic()
    for seconds in (BOUNDS[0], BOUNDS[0] * 1.01, BOUNDS[-1] + 1):
        traffic.note("/", "GET", 200, seconds)
    buckets = traffic.times()["/"].buckets
    assert [buckets[0], buckets[1], buckets[-1]] == [1, 1, 1]


def test_what_was_handed_out_does_not_change_any_more() -> None:
    traffic = Traffic()
    traffic.note("/", "GET", 200, 1)
    answers, times = traffic.answers(), traffic.times()
    traffic.note("/", "GET", 200, 1)
    assert answers == {("/", "GET", 200): 1}
    assert sum(times["/"].buckets) == 1
