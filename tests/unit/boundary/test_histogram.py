"""Durations in buckets."""

import math

from rookery.boundary.watch import Histogram


def test_a_duration_falls_into_the_first_bucket_that_holds_it() -> None:
    assert Histogram((1.0, 2.0), (0, 0, 0)).with_one(2.0) == Histogram((1.0, 2.0), (0, 1, 0), 2.0)


def test_a_duration_above_all_bounds_falls_into_the_last_bucket() -> None:
    assert Histogram((1.0,), (0, 0)).with_one(9.0).counts == (0, 1)


def test_a_quantile_is_the_bound_that_it_does_not_exceed() -> None:
    lags = Histogram((1.0, 2.0), (98, 1, 1))
    assert (lags.quantile(0.5), lags.quantile(0.99), lags.quantile(1.0)) == (1.0, 2.0, math.inf)
