"""Faults of accessibility on a page, found by axe-core in the browser itself."""

import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.pages.chromium import Tab
from tests.places import PROJECT

LOCK = Path(__file__).with_suffix(".txt")
FOLDER = PROJECT / ".cache" / "axe"
RUN = """
axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.map(
    each => `${each.id}: ${each.nodes.map(node => node.target.join(' ')).join(', ')}`))
"""


def find_violations(tab: Tab) -> list[str]:
    """The rules that a page breaks, each with the elements that break it."""
    tab.ask(f"{read_axe()}; undefined")
    return [str(each)[:300] for each in tab.ask(RUN)]


@cache
def read_axe() -> str:
    """The script; it is installed once, beside the other things that tests fetch."""
    script = FOLDER / "axe_playwright_python" / "axe.min.js"
    if not script.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        words = ["--no-deps", "--require-hashes", "--target", str(FOLDER), "-r", str(LOCK)]
        subprocess.run([*pip, *words], check=True)
    return script.read_text()
