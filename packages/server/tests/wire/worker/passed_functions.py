"""Which functions of Rookery a piece of work passes on the event loop's thread, and how often."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import PurePath
from types import CodeType, FrameType
from typing import NamedTuple

SOURCES = "/src/rookery/"
OF_TESTS = "/boundary/detect.py"
"""Watches the loop under test, now and then in the middle of what is counted."""


class Function(NamedTuple):
    """A function by its place. Its code may be replaced while coverage is measured."""

    file: str
    line: int
    name: str

    def is_in(self, rooms: frozenset[str]) -> bool:
        return not rooms.isdisjoint(PurePath(self.file).parts)


def function_of(code: CodeType) -> Function:
    return Function(code.co_filename, code.co_firstlineno, code.co_qualname)


@dataclass(slots=True)
class Passed:
    """The calls of Rookery's functions in their order, each with the object whose method it is."""

    calls: list[tuple[Function, object]] = field(default_factory=list)

    def objects(self, method: Callable[..., object]) -> list[object]:
        """The objects whose method was called, once for each call."""
        return [owner for function, owner in self.calls if function == function_of(method.__code__)]

    def between(self, first: Callable[..., object], last: Callable[..., object]) -> set[Function]:
        """The functions that were called from the first to the last of these, both included."""
        called = [function for function, _ in self.calls]
        start = called.index(function_of(first.__code__))
        return set(called[start : called.index(function_of(last.__code__), start) + 1])


@contextmanager
def watched_calls() -> Iterator[Passed]:
    """Notes the calls of Rookery's functions until the block ends."""
    passed = Passed()

    def note(frame: FrameType, event: str, _: object) -> None:
        file = frame.f_code.co_filename
        if event == "call" and SOURCES in file and not file.endswith(OF_TESTS):
            passed.calls.append((function_of(frame.f_code), frame.f_locals.get("self")))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield passed
    finally:
        sys.setprofile(before)
