"""The operator's page about the database keeps up with the code."""

import importlib
import pkgutil
import re

import rookery.server.db
from rookery.server.db.target import Problem
from tests.places import PROJECT

PAGE = PROJECT / "docs" / "database.md"


def every_problem(kind: type[Problem] = Problem) -> set[type[Problem]]:
    below = {found for child in kind.__subclasses__() for found in every_problem(child)}
    return below or {kind}


def test_every_sentence_that_is_explained_is_one_of_ours() -> None:
    for module in pkgutil.walk_packages(rookery.server.db.__path__, "rookery.server.db."):
        importlib.import_module(module.name)
    ours = {" ".join((kind.__doc__ or "").split()) for kind in every_problem()}
    shown = re.findall(r"^\| ([A-Z{][^|]*\.) \| [^|]+ \|$", PAGE.read_text(), re.MULTILINE)
    assert [sentence for sentence in shown if sentence not in ours] == []
    assert len(shown) > 15
