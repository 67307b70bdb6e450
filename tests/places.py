"""Where the parts of this checkout lie."""

import os
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PACKAGES = tuple(sorted(each.parent for each in PROJECT.glob("packages/*/pyproject.toml")))
SOURCES = tuple(each / "src" for each in PACKAGES)
IMPORTED = os.pathsep.join(map(str, (*SOURCES, PROJECT, *PACKAGES)))
"""What PYTHONPATH needs for Rookery and its tests; `tests` is a namespace with parts in each."""
