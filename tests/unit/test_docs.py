"""The docs keep up with the code."""

import ast
import re

import pytest

from rookery.server.settings import SETTINGS, variable_name
from tests.places import PROJECT, SOURCES

ROOTS = tuple(each / "rookery" for each in SOURCES)
"""The folders below which a module of ours is named."""
PAGES = [*PROJECT.glob("*.md"), *PROJECT.glob("docs/**/*.md")]
TEST = re.compile(r"def (test_\w+)")
ALERT = re.compile(r"- alert: (\w+)")
NAMED = re.compile(r"`(test_\w+)`")
STEP = re.compile(r"^([a-z_0-9/]+\.(?:py|js)) +([A-Za-z_]+(?:\.[a-z_]+)?) {2,}", re.MULTILINE)
MODULE = re.compile(r"`([\w.-]+/[\w./-]+\.(?:py|c|js))`")
LINK = re.compile(r"\]\((?!https?://|#|mailto:)([^)#\s]+)")
PROOFS = PROJECT / "docs" / "dev" / "proofs"
STRUCK = re.compile(r"^\| \d \| ([a-z ]+) \| \d+ \| (\S+) / \S+ / (\S+) \|", re.MULTILINE)
"""How the primary was struck, and how long at the least and at the most nobody answered."""
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


def test_every_test_that_the_protocol_page_names_exists() -> None:
    files = [*PROJECT.glob("packages/*/tests/**/test_*.py"), *PROJECT.glob("tests/**/test_*.py")]
    texts = [path.read_text() for path in files]
    there = {name for text in texts for name in TEST.findall(text)}
    named = NAMED.findall((PROJECT / "docs" / "protocol.md").read_text())
    assert [name for name in named if name not in there] == []
    assert len(named) > 50


def test_every_page_is_found_from_the_readme() -> None:
    shown = set(LINK.findall((PROJECT / "README.md").read_text()))
    pages = [*PROJECT.glob("docs/*.md"), *PROJECT.glob("docs/dev/*.md")]
    there = {str(page.relative_to(PROJECT)) for page in pages}
    assert there - shown == set()


def test_every_function_of_the_journeys_exists() -> None:
    page = (PROJECT / "docs" / "architecture.md").read_text()
    steps = STEP.findall(page)
    lost = [f"{module} {name}" for module, name in steps if not declares(module, name)]
    assert lost == []
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


def declares(module: str, name: str) -> bool:
    """Whether a module declares a function, a class, or a method written as Class.method."""
    files = [root / module for root in ROOTS if (root / module).exists()]
    text = files[0].read_text() if files else ""
    if module.endswith(".js"):
        return f"function {name}(" in text
    places: list[ast.AST] = [ast.parse(text)]
    for part in name.split("."):
        places = [
            node
            for place in places
            for node in getattr(place, "body", ())
            if getattr(node, "name", "") == part
        ]
    return bool(places)


def test_the_readme_stays_short() -> None:
    assert len((PROJECT / "README.md").read_text().splitlines()) <= 120


@pytest.mark.parametrize("strike", SURPRISES)
def test_takeovers_take_as_long_as_the_filed_page_says(strike: str) -> None:
    filed = STRUCK.findall((PROOFS / "takeover.md").read_text())
    spans = [(float(least), float(most)) for name, least, most in filed if name == strike]
    least, most = min(each[0] for each in spans), max(each[1] for each in spans)
    told = re.search(
        rf"{strike}(?: \(\w+\))? (\S+) to (\S+) s", (PROJECT / "docs/architecture.md").read_text()
    )
    assert told
    assert (float(told[1]), float(told[2])) == (least, most)


def test_a_promotion_takes_as_long_as_the_filed_page_says() -> None:
    filed = (PROOFS / "promotion.md").read_text()
    row = re.search(r"acknowledged again \| \S+ \| (\S+) \| (\S+) \|", filed)
    assert row
    told = f"{row[1]} s at the median and {row[2]} s at worst"
    assert told in (PROJECT / "docs/operate.md").read_text()
