"""Opening books that need no upload: one that comes with the package, and the official ones.

The official books are known by name, size and hash only; official workers fetch them by themselves.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

DEMO = "rookery-demo.epd"
"""A few dozen level positions out of well-known openings: enough for a first test."""


@dataclass(frozen=True, slots=True)
class OfficialBook:
    """`sri` is the hash that official workers check their copy by."""

    name: str
    openings: int
    sri: str


def demo_path() -> Path:
    """Where the book lies that comes with the package."""
    return Path(str(resources.files(__name__) / DEMO))


@cache
def official_books() -> dict[str, OfficialBook]:
    """By name; reads a small file the first time."""
    text = (resources.files(__name__) / "official.txt").read_text(encoding="ascii")
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: OfficialBook(name, int(openings), sri) for name, openings, sri in rows}
