"""The inventory as a table for people: aligned text for a terminal, markdown for the docs."""

from collections.abc import Iterable, Mapping, Sequence

from rookery.boundary.domains import Entry
from rookery.boundary.meter import LoopTime

NOTHING_MEASURED: Mapping[str, LoopTime] = {}


def text_table(
    entries: Sequence[Entry], measured: Mapping[str, LoopTime] = NOTHING_MEASURED
) -> str:
    """One line per entry; with the loop time of those that have been measured, by name."""
    head = ("KIND", "NAME", "DOMAIN", "CALLS", "LOOP TIME", "LONGEST", "WHY")
    lines = [
        (one.kind, one.name, one.domain.value, *_figures(measured.get(one.name)), one.why)
        for one in entries
    ]
    shown = [index for index in range(len(head)) if measured or index not in {3, 4, 5}]
    return _aligned([[line[index] for index in shown] for line in (head, *lines)])


def markdown_inventory(entries: Sequence[Entry]) -> str:
    """The entries with their reasons and without figures, so that it stays the same."""
    rows = ((one.kind, f"`{one.name}`", one.domain.value, one.why) for one in entries)
    return markdown_table(("kind", "name", "domain", "why"), rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def _figures(time: LoopTime | None) -> tuple[str, str, str]:
    if time is None:
        return ("", "", "")
    return (str(time.calls), _micros(time.mean_seconds), _micros(time.longest_step_seconds))


def _micros(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)
