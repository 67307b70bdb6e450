"""What is still worth playing when a worker must leave."""

import pytest

from rookery.match.job import PairJob, pair_jobs
from rookery.match.openings import STANDARD
from rookery.worker.playing import PairSupply, count_useful_pairs
from tests.engines.matches import mover


def pairs() -> PairSupply:
    return PairSupply(pair_jobs([(mover("a"), mover("b"))], lambda _: STANDARD))


def numbers(taken: list[PairJob]) -> list[int]:
    return [job.number for job in taken]


def test_pairs_are_handed_out_until_it_is_enough() -> None:
    supply = pairs()
    first = [next(supply), next(supply)]
    supply.stop_at(3)
    assert numbers([*first, *supply]) == [0, 1, 2]


@pytest.mark.parametrize(
    ("given", "finished", "in_time", "expected"),
    [
        (5, 3, 100, 8),  # the batch that was begun can be whole
        (5, 3, 2, 4),  # the next batch can, the one after it can't
        (5, 3, 0, 0),  # nothing more can be whole
        (8, 7, 100, 8),
    ],
)
def test_only_whole_batches_are_worth_it(
    given: int, finished: int, in_time: int, expected: int
) -> None:
    assert count_useful_pairs(given, finished, 4, in_time, whole=True) == expected


def test_pairs_that_count_alone_may_end() -> None:
    assert count_useful_pairs(5, 3, 4, 0, whole=False) == 5
