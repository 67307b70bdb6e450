"""When a machine that lost memory or disk ends a program."""

import pytest

from rookery.worker.sandbox.enclosure import Enclosure
from rookery.worker.sandbox.whole_machine import IN_SOCKETS, Reserves, find_loss

GAME = Enclosure("within", memory_mib=1000, least_free_mib=500)
BUILD = Enclosure("within", deleted_mib=1000)
MEMORY = "this machine lost more than 1000 MiB of memory meanwhile"
DISK = "this machine lost more than 1000 MiB of disk meanwhile"


@pytest.mark.parametrize(
    ("left", "hides", "expected"),
    [(499, False, MEMORY), (501, False, ""), (501, True, IN_SOCKETS), (600, True, "")],
)
def test_memory_must_have_gone_that_the_program_may_have(
    left: float, hides: bool, expected: str
) -> None:
    found = find_loss(GAME, Reserves(1550, 0), Reserves(left, 0), hides=hides)
    assert found == expected


@pytest.mark.parametrize(
    ("left", "hides", "expected"),
    [(999, False, DISK), (1001, False, ""), (1001, True, IN_SOCKETS), (2500, True, "")],
)
def test_a_disk_must_have_less_than_the_share_of_a_build(
    left: float, hides: bool, expected: str
) -> None:
    found = find_loss(BUILD, Reserves(0, 3000), Reserves(0, left), hides=hides)
    assert found == expected


def test_what_has_no_limit_is_not_regarded() -> None:
    without = Enclosure("within", least_free_mib=500)
    assert find_loss(without, Reserves(9000, 9000), Reserves(1, 1), hides=True) == ""
