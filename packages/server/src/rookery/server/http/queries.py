"""Parses query strings of the JSON API into typed values. The functions raise WireFault."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from rookery.core.protocol.codec import BadName, BadParameter
from rookery.core.protocol.user_queries import parse_integer

MOST_PAGES = 10_000_000
MOST_ROWS = 200
ORDINARY_ROWS = 50
LONGEST_NAME = 100
MOST_COMMITS = 2**63 - 1
SWITCHES = {"true": True, "1": True, "false": False, "0": False}
E = TypeVar("E", bound=StrEnum)
_ID = re.compile(r"[0-9a-f]{24}", re.ASCII)
_ID_PREFIX = re.compile(r"[0-9a-f]{1,24}", re.ASCII)


def read_page(query: Mapping[str, str]) -> tuple[int, int]:
    """`page` and `size`. Defaults: the first page, of ordinary size."""
    given = {"page": "1", "size": str(ORDINARY_ROWS), **query}
    page = parse_integer(given, "page", least=1, most=MOST_PAGES)
    return page, parse_integer(given, "size", least=1, most=MOST_ROWS)


def read_choice(query: Mapping[str, str], name: str, choices: type[E]) -> E:
    """One of the choices; the first one by default."""
    words = list(choices)
    found = query.get(name, words[0].value)
    if found not in words:
        raise BadParameter(name=name, text=f"expected one of {', '.join(words)}")
    return choices(found)


def read_name(query: Mapping[str, str], name: str) -> str:
    found = query.get(name, "")
    if len(found) > LONGEST_NAME or not found.isprintable():
        raise BadParameter(name=name, text="expected a name")
    return found


def read_run_id(query: Mapping[str, str]) -> str:
    """The id of a run, or an empty text."""
    found = query.get("run", "")
    if found and not _ID.fullmatch(found):
        raise BadName(name=found[:100], form="24 hex digits")
    return found


def read_prefix(query: Mapping[str, str]) -> str:
    """The beginning of a run's id, or an empty text."""
    found = query.get("prefix", "")
    if found and not _ID_PREFIX.fullmatch(found):
        raise BadName(name=found[:100], form="up to 24 hex digits")
    return found


def read_switch(query: Mapping[str, str], name: str) -> bool:
    found = query.get(name, "false")
    if found not in SWITCHES:
        raise BadParameter(name=name, text="expected true or false")
    return SWITCHES[found]


def read_after(query: Mapping[str, str], last_seen: str) -> int | None:
    """The position after which a stream continues: `Last-Event-ID` of a reconnecting reader, or
    else `after`."""
    if last_seen.isdecimal() and last_seen.isascii():
        return min(int(last_seen[:20]), MOST_COMMITS)
    return parse_integer(query, "after", least=0, most=MOST_COMMITS) if "after" in query else None


def read_before(query: Mapping[str, str]) -> float | None:
    """A time in ISO 8601, as UNIX seconds."""
    text = query.get("before")
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
    except (ValueError, OverflowError):
        raise BadParameter(
            name="before", text="expected a time such as 2026-03-01T12:00Z"
        ) from None


def read_moment_cursor(text: str) -> tuple[float, int] | None:
    """The end of a page of the log, given as `time-number`; None if it is malformed."""
    seconds, mark, number = text[:40].partition("-")
    whole, _, part = seconds.partition(".")
    digits = (whole, part or "0", number)
    if not mark or not all(each.isascii() and each.isdigit() for each in digits):
        return None
    return (float(seconds), int(number)) if len(whole) < 12 and len(number) < 18 else None
