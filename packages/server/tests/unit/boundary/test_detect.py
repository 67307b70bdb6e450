"""What may block on the loop stands in one file, with reasons."""

import pytest

from rookery.server.boundary.detect import Allowance, BadAllowance, allows, parse, shipped

STAT = Allowance("os.stat", "asyncpg/connect_utils.py", "_connect", "once at the start")


def test_a_line_is_a_call_a_place_and_a_reason() -> None:
    text = "# comment\n\nos.stat | asyncpg/connect_utils.py | _connect | once at the start\n"
    assert parse(text) == (STAT,)


@pytest.mark.parametrize("line", ["os.stat | a.py | f", "os.stat | a.py | f |  ", "os.stat"])
def test_a_line_without_a_reason_is_refused(line: str) -> None:
    with pytest.raises(BadAllowance, match=r"os\.stat"):
        parse(line)


def test_only_that_call_in_that_place_is_allowed() -> None:
    assert allows([STAT], "os.stat", "/x/asyncpg/connect_utils.py", "_connect")
    assert not allows([STAT], "os.read", "/x/asyncpg/connect_utils.py", "_connect")
    assert not allows([STAT], "os.stat", "/x/asyncpg/connect_utils.py", "other")


def test_the_list_that_ships_can_be_read() -> None:
    assert all(one.reason for one in shipped())
