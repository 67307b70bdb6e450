"""Writes the table of settings in docs/operate.md from their declarations: scripts/settings."""

import re
import sys
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from rookery.server.settings import SETTINGS, Settings, variable_name  # noqa: E402 it is found above

PAGE = ROOT / "docs" / "operate.md"
TABLE = re.compile(r"^\| variable \|.*?(?=\n\n)", re.MULTILINE | re.DOTALL)


def table() -> str:
    """The settings by groups; a star behind the name of one that is also a flag."""
    lines = ["| variable | meaning |", "|---|---|"]
    for group, members in groupby(SETTINGS, lambda name: SETTINGS[name].group):
        lines += [f"| **{group}** | |", *map(row, members)]
    return "\n".join(lines)


def row(name: str) -> str:
    setting = SETTINGS[name]
    meaning = "; ".join(filter(None, (setting.purpose, setting.note)))
    star = "*" if setting.flag else ""
    return f"| `{variable_name(name)}`{star} | {meaning}{shown_default(name)} |"


def shown_default(name: str) -> str:
    """The default in brackets: none for what is empty or depends on the user."""
    default = getattr(Settings(), name)
    if isinstance(default, bool):
        return f" ({int(default)})"
    if isinstance(default, tuple):
        default = ", ".join(default)
    return f" ({default})" if default and not isinstance(default, Path) else ""


def rewritten(page: str) -> str:
    """The page with the table as it should be."""
    return TABLE.sub(lambda _: table(), page, count=1)


if __name__ == "__main__":
    PAGE.write_text(rewritten(PAGE.read_text()))
