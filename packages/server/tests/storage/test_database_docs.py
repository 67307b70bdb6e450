"""The operator's page about the database keeps up with the code."""

import importlib
import pkgutil

import rookery.server.db
from rookery.server.db.target import Problem
from tests.places import PROJECT

PAGE = PROJECT / "docs" / "database.md"


def every_problem(kind: type[Problem] = Problem) -> set[type[Problem]]:
    below = {found for child in kind.__subclasses__() for found in every_problem(child)}
    return below or {kind}


def test_every_sentence_of_failure_is_explained() -> None:
    for module in pkgutil.walk_packages(rookery.server.db.__path__, "rookery.server.db."):
        importlib.import_module(module.name)
    page = " ".join(PAGE.read_text().split())
    sentences = {kind.__name__: " ".join((kind.__doc__ or "").split()) for kind in every_problem()}
    assert [name for name, text in sentences.items() if text not in page] == []
