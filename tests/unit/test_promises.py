"""Every flag, setting and field that is promised has a test of its effect: the lists are in
tests/promises."""

import pytest

from tests.promises import LISTS, list_tests, read_list


@pytest.mark.parametrize("kind", LISTS)
def test_every_promise_names_the_test_of_its_effect(kind: str) -> None:
    assert sorted(set(LISTS[kind]()) - set(read_list(kind))) == []


@pytest.mark.parametrize("kind", LISTS)
def test_no_line_speaks_of_a_promise_that_is_not_made(kind: str) -> None:
    assert sorted(set(read_list(kind)) - set(LISTS[kind]())) == []


@pytest.mark.parametrize("kind", LISTS)
def test_the_test_of_each_promise_exists(kind: str) -> None:
    named = read_list(kind).items()
    gone = [promise for promise, test in named if not is_there(test)]
    assert gone == []


def is_there(test: str) -> bool:
    path, _, name = test.partition("::")
    return name.startswith("test_") and name in list_tests(path)
