"""The docs keep up with the code."""

import ast
import re
from collections.abc import Iterator

import pytest

from rookery.server.settings import SETTINGS, variable_name
from scripts import settings_table
from tests.places import PROJECT, SOURCES

ROOTS = tuple(each / "rookery" for each in SOURCES)
"""The folders below which a module of ours is named."""
PAGES = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]
TEST = re.compile(r"def (test_\w+)")
ALERT = re.compile(r"- alert: (\w+)")
JOURNEY = re.compile(r"^```\n([A-Za-z].*? > .*?)^```", re.MULTILINE | re.DOTALL)
FUNCTION = re.compile(r"^(?:async )?function (\w+)\(", re.MULTILINE)
FILES = [path for source in SOURCES for path in source.rglob("*")]
MODULE = re.compile(r"`([\w.-]+/[\w./-]+\.(?:py|c|js))`")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
PROOFS = PROJECT / "docs" / "dev" / "proofs.md"
MOST_WORDS = 60
SURPRISES = ("killed", "stopped and woken", "cut off from the database")


def test_every_setting_is_described_for_operators() -> None:
    page = (PROJECT / "docs" / "operate.md").read_text()
    assert [name for name in SETTINGS if f"`{variable_name(name)}`" not in page] == []


def test_every_alert_has_a_row_for_whoever_it_wakes() -> None:
    alerts = ALERT.findall((PROJECT / "deploy/monitoring/alerts.yml").read_text())
    page = (PROJECT / "docs" / "at-night.md").read_text()
    assert alerts
    assert [name for name in alerts if name not in page] == []


def test_every_link_leads_somewhere() -> None:
    lost = [
        f"{page.name}: {target}"
        for page in PAGES
        for target in LINK.findall(page.read_text())
        if not (page.parent / target).exists()
    ]
    assert lost == []


def test_every_test_of_a_pitfall_of_the_protocol_exists() -> None:
    files = [*PROJECT.glob("packages/*/tests/**/test_*.py"), *PROJECT.glob("tests/**/test_*.py")]
    texts = [path.read_text() for path in files]
    there = {name for text in texts for name in TEST.findall(text)}
    lines = (PROJECT / "tests" / "promises" / "protocol.txt").read_text().splitlines()
    named = [line.split()[-1] for line in lines if not line.startswith("#")]
    assert [name for name in named if name not in there] == []
    assert len(named) > 50


def test_every_page_is_found_from_the_readme() -> None:
    shown = set(LINK.findall((PROJECT / "README.md").read_text()))
    pages = [*PROJECT.glob("docs/*.md"), *PROJECT.glob("docs/dev/*.md")]
    there = {str(page.relative_to(PROJECT)) for page in pages}
    assert there - shown == set()


def test_every_function_of_the_journeys_exists() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text()
    steps = [step for found in JOURNEY.findall(page) for step in re.split(r"[\s>]+", found) if step]
    there = set(declared_names())
    assert [step for step in steps if step not in there] == []
    assert len(steps) > 50


def test_every_module_that_the_docs_name_exists() -> None:
    roots = (PROJECT, *ROOTS, PROJECT / "asgi", PROJECT / "asgi" / "src")
    lost = [
        f"{page.name}: {module}"
        for page in [*PAGES, *PROJECT.glob("asgi/docs/*.md")]
        for module in MODULE.findall(page.read_text())
        if not any((root / module).exists() for root in roots)
    ]
    assert lost == []


def declared_names() -> Iterator[str]:
    """Every function and class of the sources, and every method written as Class.method."""
    for source in FILES:
        if source.suffix == ".js":
            yield from FUNCTION.findall(source.read_text())
        elif source.suffix == ".py":
            yield from names_in(ast.parse(source.read_text()), "")


def names_in(place: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    for node in place.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from names_in(node, f"{node.name}.")


def test_the_readme_stays_short() -> None:
    assert len((PROJECT / "README.md").read_text().splitlines()) <= 120


def test_the_table_of_settings_is_made_from_their_declarations() -> None:
    page = settings_table.PAGE.read_text()
    assert settings_table.rewritten(page) == page, "run scripts/settings"


def test_the_docs_can_be_read_in_an_afternoon() -> None:
    assert sum(page.stat().st_size for page in PAGES) <= 220_000


def test_no_cell_of_a_table_is_a_page() -> None:
    long = [
        f"{page.name}: {cell.strip()[:60]}"
        for page in PAGES
        for line in page.read_text().splitlines()
        if line.startswith("|")
        for cell in line.split("|")
        if len(cell.split()) > MOST_WORDS
    ]
    assert long == []


@pytest.mark.parametrize("strike", SURPRISES)
def test_takeovers_take_as_long_as_the_last_proof_says(strike: str) -> None:
    span = re.compile(rf"{strike} (\d\S*) to (\S+) s")
    filed = span.findall(verdict("takeover"))
    told = span.findall((PROJECT / "docs/architecture.md").read_text())
    assert filed
    least, most = min(float(one) for one, _ in filed), max(float(one) for _, one in filed)
    assert [(float(one), float(other)) for one, other in told] == [(least, most)]


def test_a_promotion_takes_as_long_as_the_last_proof_says() -> None:
    spread = re.search(r"\S+ s at the median and \S+ s at worst", verdict("promotion"))
    assert spread
    assert spread[0] in (PROJECT / "docs/operate.md").read_text()


def verdict(proof: str) -> str:
    """The row of a proof."""
    (row,) = re.findall(rf"^\| {proof} \|.*$", PROOFS.read_text(), re.MULTILINE)
    return str(row)
