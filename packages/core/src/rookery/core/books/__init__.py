"""Opening books that need no upload: one that is part of the package, and the official ones.

Only the names, sizes and hashes of the official books are known here; official workers fetch them
themselves.
"""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

DEMO = "rookery-demo.epd"
"""The name of the book in the package: a few dozen balanced positions from well-known openings,
enough for a first test."""


@dataclass(frozen=True, slots=True)
class OfficialBook:
    """An official book; `sri` is the hash by which official workers check their copy."""

    name: str
    openings: int
    sri: str


def demo_path() -> Path:
    """Return the path of the book in the package."""
    return Path(str(resources.files(__name__) / DEMO))


@cache
def official_books() -> dict[str, OfficialBook]:
    """Return the official books by name; read a small file the first time."""
    text = (resources.files(__name__) / "official.txt").read_text(encoding="ascii")
    rows = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {name: OfficialBook(name, int(openings), sri) for name, openings, sri in rows}
