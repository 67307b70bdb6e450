"""The operator's page about the database keeps up with the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import rookery.server
from tests.places import PROJECT

PAGE = PROJECT / "docs" / "database.md"


def every_text(file: Path) -> Iterator[str]:
    """The texts in a module, each on one line: messages and docstrings."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield " ".join(node.value.split())


def test_every_sentence_that_is_explained_is_one_of_ours() -> None:
    folders = map(Path, rookery.server.__path__)
    ours = {
        text for folder in folders for file in folder.rglob("*.py") for text in every_text(file)
    }
    shown = re.findall(r"^\| ([A-Z{][^|]*\.) \| [^|]+ \|$", PAGE.read_text(), re.MULTILINE)
    assert [sentence for sentence in shown if sentence not in ours] == []
    assert len(shown) > 15
