"""Lines are taken whole, in order, and the end is noticed."""

import os

from rookery.engine.thinking import Inbox
from tests.unit.engine.table import spoken


def test_lines_come_in_order_without_their_ends() -> None:
    with spoken("isready\r", "", "  go  ") as inbox:
        assert [inbox.wait(), inbox.wait()] == ["isready", "go"]


def test_looking_does_not_wait() -> None:
    with spoken() as inbox:
        assert inbox.look() is None


def test_half_a_line_is_no_line() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"isre")
    inbox = Inbox(reading)
    assert inbox.look() is None
    os.write(writing, b"ady\n")
    assert inbox.look() == "isready"
    os.close(writing)
    assert inbox.wait() is None
    assert inbox.ended
    os.close(reading)


def test_a_last_line_without_an_end_counts() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"quit")
    os.close(writing)
    assert Inbox(reading).wait() == "quit"
    os.close(reading)


def test_what_is_put_back_comes_first() -> None:
    with spoken("c") as inbox:
        inbox.put_back(["a", "b"])
        assert [inbox.wait(), inbox.wait(), inbox.wait()] == ["a", "b", "c"]
