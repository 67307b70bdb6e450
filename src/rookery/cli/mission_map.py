"""Where each part of the fleet server that Rookery takes up went: its inventory beside ours.

The rows stand in `mission_map.txt`. Each names the entries of our own inventory that do its
work; a row whose entries come later says with what they arrive.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import resources

from rookery.boundary.domains import Entry
from rookery.boundary.render import markdown_table

COLUMNS = 7
# Long lists in the file: a name for all the routes of these sections.
GROUPS = {"the worker routes": "3 API, worker", "the user routes": "3 API, user"}


class BadRow(ValueError):
    """A row of the mission map does not have its seven columns:"""

    def __str__(self) -> str:
        return f"{self.__doc__} {' '.join(map(str, self.args))}"


@dataclass(frozen=True, slots=True)
class Row:
    """One row of theirs, the entries of ours that answer to it, and what is different."""

    document: int
    section: str
    theirs: str
    domain: str
    ours: tuple[str, ...]
    difference: str
    arrives: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An entry that a row names and that does not exist, or a note that has become stale."""

    theirs: str
    what: str


def shipped() -> tuple[Row, ...]:
    """The map that comes with the package."""
    return parse(resources.files("rookery.cli").joinpath("mission_map.txt").read_text("utf-8"))


def parse(text: str) -> tuple[Row, ...]:
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return tuple(map(_row, lines))


def disagreements(rows: Sequence[Row], entries: Iterable[Entry]) -> Iterator[Disagreement]:
    """Rows without a note must name existing entries; rows with one must still wait for some."""
    known = {f"{one.kind} {one.name}" for one in entries}
    for row in rows:
        missing = [name for name in _spelt_out(row.ours, rows) if name not in known]
        if not row.arrives:
            yield from (Disagreement(row.theirs, f"there is no {name}") for name in missing)
        elif not missing:
            yield Disagreement(row.theirs, f"it is here, no longer to arrive with {row.arrives}")


def markdown(rows: Sequence[Row]) -> str:
    """The map as a table."""
    head = ("document", "section", "theirs", "domain", "ours", "what is different")
    return markdown_table(head, map(_cells, rows))


def _row(line: str) -> Row:
    columns = [column.strip() for column in line.split("|")]
    if len(columns) != COLUMNS or not all(columns[:5]):
        raise BadRow(line)
    document, section, theirs, domain, ours, difference, arrives = columns
    return Row(int(document), section, theirs, domain, tuple(ours.split(", ")), difference, arrives)


def _spelt_out(names: Iterable[str], rows: Sequence[Row]) -> Iterator[str]:
    for name in names:
        if name in GROUPS:
            yield from (one for row in rows if row.section == GROUPS[name] for one in row.ours)
        else:
            yield name


def _cells(row: Row) -> tuple[str, ...]:
    ours = ", ".join(name if name in GROUPS else f"`{name}`" for name in row.ours)
    arrives = f"arrives with {row.arrives}" if row.arrives else ""
    different = "; ".join(filter(None, (row.difference, arrives)))
    return (str(row.document), row.section, row.theirs, row.domain, ours, different)
