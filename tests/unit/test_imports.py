"""What the linter can't see of the ways between threads and the loop."""

import ast
from collections.abc import Iterator

import pytest

from tests.places import SOURCES

WAYS_ACROSS = {"call_soon_threadsafe", "run_in_executor", "run_coroutine_threadsafe"}


def uses(text: str) -> Iterator[tuple[int, str]]:
    """Where a program reaches for a way between threads and a loop: (line, name)."""
    if not any(way in text for way in WAYS_ACROSS):
        return
    for node in ast.walk(ast.parse(text)):
        name = getattr(node, "attr", None) or getattr(node, "value", None)
        if isinstance(node, ast.Attribute | ast.Constant) and name in WAYS_ACROSS:
            yield node.lineno, str(name)


@pytest.mark.parametrize(
    "text",
    ["loop.call_soon_threadsafe(f)", "g = self.a.run_in_executor", "getattr(x, 'run_in_executor')"],
)
def test_a_use_is_found_however_it_is_written(text: str) -> None:
    assert len(list(uses(text))) == 1


def test_the_loops_own_ways_for_threads_are_used_in_boundary_alone() -> None:
    found = [
        f"{file.relative_to(source)}:{line} {name}"
        for source in SOURCES
        for file in sorted(source.rglob("*.py"))
        if file.parent.name != "boundary"
        for line, name in uses(file.read_text("utf-8"))
    ]
    assert found == []
