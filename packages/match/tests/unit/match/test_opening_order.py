"""Openings come in fastchess's order, by the generator that g++ has."""

import hashlib
from itertools import islice

import pytest

from rookery.match.opening_order import OpeningOrder, mersenne_numbers, order_of_run, seed_of_run

RUN = "64e74776a170cb1f26fa3930"


def test_the_seed_is_the_low_half_of_the_digest_of_the_run() -> None:
    assert seed_of_run(RUN) == 994888488534350518


@pytest.mark.parametrize(
    ("size", "start", "first", "last", "digest"),
    [
        (
            400,
            1,
            [326, 392, 291, 380, 370, 343, 197, 27, 183, 171, 360, 300],
            [356, 341, 196],
            "506f8f77cb6a1814b2590ffc8bdb95736b0fbf0f05310fce2f875abb17b744d6",
        ),
        (
            400,
            391,
            [398, 357, 94, 238, 81, 323, 193, 356, 341, 196, 326, 392],
            [262, 25, 158],
            "d13f40d8142cb7ca486d22b067b838cab030c2f6ad2d27e8c13fc519c007f11b",
        ),
        (
            100_000,
            1,
            [15926, 64511, 66945, 20853, 23386, 96993, 64149, 23334, 20095, 23854, 12450, 44411],
            [26372, 55894, 63153],
            "8d1eafc1d1b3be56f46c01ca44f065002594537b686dad7efc39a5a6486a74ec",
        ),
        (
            100_000,
            99_990,
            [98209, 52750, 50358, 76618, 94052, 65442, 17373, 79278, 26372, 55894, 63153, 15926],
            [24327, 8632, 42017],
            "b809fe3105427586cf1d749cfa17187be8b3653a53bc6ac2e10a5a2b2a1c8fbb",
        ),
    ],
)
def test_the_order_equals_the_vectors(
    size: int, start: int, first: list[int], last: list[int], digest: str
) -> None:
    order = order_of_run(size, RUN, start=start).take(size)
    assert (order[:12], order[-3:]) == (first, last)
    assert hashlib.sha256(",".join(map(str, order)).encode()).hexdigest() == digest


def test_the_order_begins_anew_when_the_book_runs_out() -> None:
    order = order_of_run(400, RUN, start=5)
    assert order.take(1000)[400:800] == order.take(400)


def test_a_start_beyond_the_book_wraps_too() -> None:
    assert order_of_run(400, RUN, start=401).take(5) == order_of_run(400, RUN).take(5)


def test_asking_far_ahead_first_changes_nothing() -> None:
    eager, lazy = order_of_run(400, RUN), order_of_run(400, RUN)
    assert eager[399] == lazy.take(400)[399]
    assert eager.take(400) == lazy.take(400)


def test_every_opening_comes_once() -> None:
    assert sorted(OpeningOrder(1000, seed=7).take(1000)) == list(range(1000))


@pytest.mark.parametrize("size", [1, 2])
def test_tiny_books_work(size: int) -> None:
    assert sorted(OpeningOrder(size, seed=7).take(size)) == list(range(size))


def test_without_a_shuffle_the_order_is_the_book_s_own() -> None:
    assert OpeningOrder(5, seed=None, start=4).take(5) == [3, 4, 0, 1, 2]


def test_there_is_no_pair_before_the_first() -> None:
    with pytest.raises(IndexError):
        OpeningOrder(5, seed=None)[-1]


@pytest.mark.parametrize(("size", "start"), [(0, 1), (10, 0)])
def test_an_order_of_nothing_is_refused(size: int, start: int) -> None:
    with pytest.raises(ValueError, match="needs openings"):
        OpeningOrder(size, seed=None, start=start)


PLACES = (0, 1, 311, 312, 999)


@pytest.mark.parametrize(
    ("seed", "values"),
    [
        (
            0,
            (
                2947667278772165694,
                18301848765998365067,
                11228354904504431959,
                17661967264253682746,
                13588344625309223635,
            ),
        ),
        (
            5489,
            (
                14514284786278117030,
                4620546740167642908,
                1370093900783164344,
                6776537281339823025,
                10193180073869439881,
            ),
        ),
        (
            2**64 - 1,
            (
                478026398904862820,
                13243134898385798468,
                8835741269252529079,
                17926718052445221126,
                10740104408641833802,
            ),
        ),
    ],
)
def test_it_draws_what_the_standard_library_of_cpp_draws(
    seed: int, values: tuple[int, ...]
) -> None:
    drawn = list(islice(mersenne_numbers(seed), 1000))
    assert tuple(drawn[place] for place in PLACES) == values


def test_the_standard_names_its_ten_thousandth_value() -> None:
    """The C++ standard itself fixes this one for the default seed 5489."""
    assert next(islice(mersenne_numbers(5489), 9999, None)) == 9981545732273789042
