"""What runs where: every route, middleware, step and job declares its domain and why."""

import enum
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rookery.core.boundary.errors import Undeclared
from rookery.core.boundary.watch import LoopTime

__all__ = ["Declaration", "Domain", "Entry", "Undeclared", "declaration_of", "inventory", "runs"]

T = TypeVar("T")

_MARK = "__rookery_runs__"


class Domain(enum.Enum):
    """Where a part of the app does its work."""

    LOOP = "LOOP"  # on the event loop, in microseconds
    LOOP_CPU = "LOOP CPU"  # computes on the event loop, in bounded pieces of milliseconds at most
    THREAD = "THREAD"  # in a worker thread
    STREAM = "STREAM"  # chunk by chunk: each read in a thread or awaited on the loop


@dataclass(frozen=True, slots=True)
class Declaration:
    """Where a part runs and the reason for it."""

    domain: Domain
    why: str
    needs_primary: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the inventory. Its kind is route, middleware, step, error handler or job."""

    kind: str
    name: str
    domain: Domain
    why: str
    needs_primary: bool = False


def runs(domain: Domain, why: str, *, needs_primary: bool = False) -> Callable[[T], T]:
    """Declare the domain of an endpoint, a middleware class, a start-up step or a job.

    Parts declared with `needs_primary` run in the primary only; other instances forward such
    requests to it.
    """
    if not why.strip():
        raise ValueError("a declaration needs a reason")
    declaration = Declaration(domain, why, needs_primary)

    def mark(part: T) -> T:
        setattr(part, _MARK, declaration)
        return part

    return mark


def declaration_of(obj: object) -> Declaration | None:
    """Return the declaration of a part, found through partials, methods, wrappers and instances.

    A subclass does not inherit it, because it may do quite different work.
    """
    while isinstance(obj, functools.partial):
        obj = obj.func
    obj = inspect.unwrap(obj) if callable(obj) else obj
    obj = getattr(obj, "__func__", obj)
    holder = obj if isinstance(obj, type) or hasattr(obj, "__code__") else type(obj)
    found = vars(holder).get(_MARK)
    return found if isinstance(found, Declaration) else None


def inventory(items: Iterable[tuple[str, str, object]]) -> tuple[Entry, ...]:
    """Return the inventory of (kind, name, part) tuples. Raise Undeclared when a declaration is
    missing."""
    entries: list[Entry] = []
    missing: list[str] = []
    for kind, name, part in items:
        declared = declaration_of(part)
        if declared is None:
            missing.append(f"{kind} {name}")
        else:
            entries.append(Entry(kind, name, declared.domain, declared.why, declared.needs_primary))
    if missing:
        raise Undeclared(", ".join(missing))
    return tuple(entries)


COMPUTES_SECONDS = 0.001


def measured_domain(time: LoopTime) -> Domain:
    """Return the domain in which a part was measured to run. A single call to a thread that fills a
    cache does not make it THREAD."""
    if time.threads * 2 > time.calls:
        return Domain.THREAD
    return Domain.LOOP_CPU if time.mean_seconds >= COMPUTES_SECONDS else Domain.LOOP


# The inventory as a table for people: aligned text for a terminal, markdown for the docs.

NOTHING_MEASURED: Mapping[str, LoopTime] = {}


def text_table(
    entries: Sequence[Entry], measured: Mapping[str, LoopTime] = NOTHING_MEASURED
) -> str:
    """Return the inventory as aligned text, one line per entry, with the loop time of measured
    entries."""
    head = ("KIND", "NAME", "DOMAIN", "MEASURED", "CALLS", "LOOP TIME", "LONGEST", "WHY")
    lines = [
        (one.kind, one.name, _place(one), *_figures(measured.get(one.name)), one.why)
        for one in entries
    ]
    shown = [index for index in range(len(head)) if measured or index not in {3, 4, 5, 6}]
    return aligned([[line[index] for index in shown] for line in (head, *lines)])


def _place(entry: Entry) -> str:
    """Return the domain of an entry, and whether only the primary runs it."""
    return f"{entry.domain.value}, primary" if entry.needs_primary else entry.domain.value


def markdown_matrix(groups: Mapping[str, Sequence[Entry]]) -> str:
    """How many entries of each group run where."""
    rows = (
        (group, *(str(sum(one.domain is each for one in entries) or "") for each in Domain))
        for group, entries in groups.items()
    )
    return markdown_table(("entry points", *(each.value for each in Domain)), rows)


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in cells)


def _figures(time: LoopTime | None) -> tuple[str, str, str, str]:
    if time is None:
        return ("", "", "", "")
    mean, longest = _micros(time.mean_seconds), _micros(time.longest_step_seconds)
    return (measured_domain(time).value, str(time.calls), mean, longest)


def _micros(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Rows as text in columns."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = (
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        for line in lines
    )
    return "".join(f"{line.rstrip()}\n" for line in padded)
