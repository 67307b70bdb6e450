"""Kinds of test are known at home only: elsewhere nobody asks which class a run's kind is."""

import ast
from collections.abc import Iterator

import pytest

from rookery.core.model.kinds import KINDS
from tests.places import PROJECT, SOURCES

HOMES = ("core/model/kinds", "core/protocol/kinds", "server/farm/show/kinds")
CLASSES = frozenset(kind.__name__ for kind in KINDS.values())


def list_questions(source: str) -> Iterator[int]:
    """The lines that ask for the class of a kind."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name("isinstance" | "issubclass"), args=[_, asked]):
                parts: list[ast.expr] = [asked]
            case ast.MatchClass(cls=asked) | ast.Compare(comparators=[asked]):
                parts = [asked]
            case _:
                continue
        names = (each for part in parts for each in ast.walk(part) if isinstance(each, ast.Name))
        if any(name.id in CLASSES for name in names):
            yield node.lineno if isinstance(node, ast.expr) else asked.lineno


def test_nobody_asks_for_the_class_of_a_kind() -> None:
    found = [
        f"{path.relative_to(PROJECT)}:{line}"
        for path in sorted(path for folder in SOURCES for path in folder.rglob("*.py"))
        if not any(home in str(path) for home in HOMES)
        for line in list_questions(path.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "asking",
    [
        "isinstance(run.kind, SprtTest)",
        "isinstance(kind, Fixed | SpsaTuning)",
        "type(kind) is SpsaTuning",
        "match kind:\n    case Fixed():\n        pass",
    ],
)
def test_a_question_is_found(asking: str) -> None:
    assert list(list_questions(asking))
