"""What runs where: every route, middleware and lifespan step declares its domain and why."""

import enum
import functools
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from rookery.boundary.errors import Undeclared

__all__ = ["Declaration", "Domain", "Entry", "Undeclared", "declaration_of", "inventory", "runs"]

T = TypeVar("T")

_MARK = "__rookery_runs__"


class Domain(enum.Enum):
    """Where the work of a part is done."""

    LOOP = "LOOP"  # on the event loop, in microseconds
    THREAD = "THREAD"  # in a worker thread
    STREAM = "STREAM"  # chunk by chunk: each read in a thread or awaited on the loop


@dataclass(frozen=True, slots=True)
class Declaration:
    """Where a part runs and the reason for it."""

    domain: Domain
    why: str


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the inventory; kind is route, middleware, lifespan, error handler or job."""

    kind: str
    name: str
    domain: Domain
    why: str


def runs(domain: Domain, why: str) -> Callable[[T], T]:
    """Declare the domain of an endpoint, a middleware class or a lifespan function."""
    if not why.strip():
        raise ValueError("a declaration needs a reason")
    declaration = Declaration(domain, why)

    def mark(part: T) -> T:
        setattr(part, _MARK, declaration)
        return part

    return mark


def declaration_of(obj: object) -> Declaration | None:
    """The declaration of a part, found through partials, methods, wrappers and instances.

    A subclass does not inherit it: it may do quite different work.
    """
    while isinstance(obj, functools.partial):
        obj = obj.func
    obj = inspect.unwrap(obj) if callable(obj) else obj
    obj = getattr(obj, "__func__", obj)
    holder = obj if isinstance(obj, type) or hasattr(obj, "__code__") else type(obj)
    found = vars(holder).get(_MARK)
    return found if isinstance(found, Declaration) else None


def inventory(items: Iterable[tuple[str, str, object]]) -> tuple[Entry, ...]:
    """The entries for (kind, name, part); refuses the app when a declaration is missing."""
    entries: list[Entry] = []
    missing: list[str] = []
    for kind, name, part in items:
        declared = declaration_of(part)
        if declared is None:
            missing.append(f"{kind} {name}")
        else:
            entries.append(Entry(kind, name, declared.domain, declared.why))
    if missing:
        raise Undeclared(", ".join(missing))
    return tuple(entries)
