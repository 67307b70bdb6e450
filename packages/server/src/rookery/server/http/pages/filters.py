"""Reads the filters of lists from addresses. People edit addresses, so invalid values are
ignored."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

LONGEST_TEXT = 100


def read_text(query: Mapping[str, str], name: str) -> str:
    """A text without characters that can't be printed."""
    text = query.get(name, "").strip()[:LONGEST_TEXT]
    return "".join(letter for letter in text if letter.isprintable())


def read_search(query: Mapping[str, str]) -> str:
    """The text to search for. Old addresses of some pages call it `q`."""
    return read_text(query, "text") or read_text(query, "q")


def read_word(query: Mapping[str, str], name: str, words: Sequence[str]) -> str:
    """One of the words, or an empty text."""
    found = query.get(name, "")
    return found if found in words else ""


def read_day(query: Mapping[str, str], name: str) -> datetime | None:
    """The start of a day in UTC, as a date input sends it."""
    try:
        return datetime.strptime(query.get(name, "")[:10], "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return None


def find_end_of_day(day: datetime) -> datetime:
    """The end of the day; for the last possible day, the day itself."""
    return day + timedelta(days=1) if day.date() < date.max else day
