"""How git's output is read, and which histories are wanted."""

from dataclasses import replace
from datetime import UTC, datetime

from msgspec.structs import replace as with_fields

from rookery.core.model.engine import EngineRecord
from rookery.server.ask.history import (
    IndexedHistory,
    ReadCommit,
    find_unwanted,
    list_wanted,
    parse_log,
)
from rookery.server.sources.commits import LONGEST_MESSAGE
from tests.makers import NOW

RECORD = EngineRecord(name="Ethereal", source="https://example.org/e.git", history=True)
STORED = IndexedHistory("Ethereal", "https://example.org/e", True, "", NOW)


def test_commits_are_read_however_the_output_is_cut() -> None:
    text = b"aaa\0Olga\x000\0One\n\nmore\n\0bbb\0Sven\x0060\0Two\n\0"
    whole = list(parse_log([text]))
    assert whole[0] == ReadCommit("aaa", "Olga", datetime(1970, 1, 1, tzinfo=UTC), "One\n\nmore")
    assert [each.hash for each in whole] == ["aaa", "bbb"]
    assert list(parse_log(text[place : place + 1] for place in range(len(text)))) == whole


def test_hostile_commits_are_bounded() -> None:
    huge = b"aaa\0" + b"n" * 10**6 + b"\x009999999999999999999999\0" + b"m" * 10**6 + b"\0"
    (found,) = parse_log([huge])
    assert len(found.message) == LONGEST_MESSAGE
    assert len(found.author) == 100
    (late,) = parse_log([b"aaa\0n\x00999999999999999\0\xff\xfe\0"])
    assert late.at.year == 9999


def test_a_record_asks_for_its_history() -> None:
    plain = with_fields(RECORD, name="Plain", history=False)
    (found,) = list_wanted([RECORD, plain], lambda _record: True)
    assert (found.engine, found.repository) == ("Ethereal", "https://example.org/e")


def test_what_no_record_asks_for_is_unwanted() -> None:
    wanted = list_wanted([RECORD], lambda _record: False)
    assert find_unwanted([STORED], wanted, ["Ethereal"]) == ()
    assert find_unwanted([STORED], (), ["Ethereal"]) == (STORED,)


def test_what_an_operator_added_stays_as_long_as_its_engine() -> None:
    added = replace(STORED, by_record=False)
    assert find_unwanted([added], (), ["Ethereal"]) == ()
    assert find_unwanted([added], (), ["Another"]) == (added,)
