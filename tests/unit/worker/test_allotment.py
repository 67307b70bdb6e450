"""How much of a machine a worker may use."""

import pytest

from rookery.worker.system import BadAllotment, parse_cores, parse_memory
from tests.workers.fake_system import FakeSystem


@pytest.mark.parametrize(
    ("text", "expected"),
    [("auto", 7), ("3", 3), ("MAX", 16), ("PHYS-1", 7), ("max/2", 8), ("PHYS*2", 16)],
)
def test_cores_are_a_number_or_an_expression(text: str, expected: int) -> None:
    assert parse_cores(text, FakeSystem()) == expected


def test_a_quota_below_the_cores_counts() -> None:
    assert parse_cores("auto", FakeSystem(cores=8, usable=4)) == 3


def test_a_machine_with_one_core_plays_on_it() -> None:
    assert parse_cores("auto", FakeSystem(cores=1, usable=1)) == 1


@pytest.mark.parametrize("text", ["0", "many", "PHYS-8", "MAX/", ""])
def test_other_words_are_no_cores(text: str) -> None:
    with pytest.raises(BadAllotment, match="write auto"):
        parse_cores(text, FakeSystem())


@pytest.mark.parametrize(
    ("text", "expected"), [("auto", 32_000), ("8000", 8000), ("MAX/2", 16_000)]
)
def test_memory_is_counted_in_mib(text: str, expected: int) -> None:
    assert parse_memory(text, FakeSystem()) == expected


def test_memory_has_no_cores() -> None:
    with pytest.raises(BadAllotment):
        parse_memory("PHYS", FakeSystem())
