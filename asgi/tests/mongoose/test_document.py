"""docs/adapter.md names each test of a statement, and no test that does not exist."""

import re
from pathlib import Path

from tests.serving import ROOT

NAMED = re.compile(r"`(test_\w+)`")
DEFINED = re.compile(r"^def (test_\w+)", re.MULTILINE)


def defined(path: Path) -> set[str]:
    return set(DEFINED.findall(path.read_text()))


def document() -> str:
    return (ROOT / "docs" / "adapter.md").read_text()


def test_every_statement_has_its_test_in_the_table() -> None:
    table = document().partition("## Each statement")[2].partition("\n## ")[0]
    assert set(NAMED.findall(table)) == defined(ROOT / "tests/mongoose/test_statements.py")
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    assert all(NAMED.search(row) for row in rows)


def test_every_test_that_the_document_names_exists() -> None:
    found = set().union(*(defined(path) for path in (ROOT / "tests").rglob("test_*.py")))
    assert set(NAMED.findall(document())) <= found
