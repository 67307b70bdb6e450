"""The operator's page about the database keeps up with the code."""

import importlib
import pkgutil
from pathlib import Path

import rookery.db
from rookery.db.target import Problem

PAGE = Path(__file__).resolve().parents[2] / "docs" / "database.md"


def every_problem(kind: type[Problem] = Problem) -> set[type[Problem]]:
    below = {found for child in kind.__subclasses__() for found in every_problem(child)}
    return below or {kind}


def test_every_sentence_of_failure_is_explained() -> None:
    for module in pkgutil.walk_packages(rookery.db.__path__, "rookery.db."):
        importlib.import_module(module.name)
    page = " ".join(PAGE.read_text().split())
    sentences = {kind.__name__: " ".join((kind.__doc__ or "").split()) for kind in every_problem()}
    assert [name for name, text in sentences.items() if text not in page] == []
