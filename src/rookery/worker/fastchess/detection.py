"""Where fastchess is and which version: the only part here that touches the machine."""

import re
import shutil
import subprocess
from dataclasses import dataclass

OLDEST = (1, 4, 0)
"""Older ones print other lines; what they would report is not trusted."""
QUESTIONS = ("-version", "--version")
"""The second is how it was asked before 1.8."""
PATIENCE_SECONDS = 10

_VERSION = re.compile(r"fast-?chess\s+(?:[a-z]+\s+)?v?(\d+(?:\.\d+)+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fastchess:
    """A program that calls itself fastchess."""

    path: str
    version: tuple[int, ...]
    line: str
    """The version in its own words, for the records."""

    @property
    def is_recent(self) -> bool:
        return self.version >= OLDEST


def find(program: str = "fastchess") -> Fastchess | None:
    """Look for fastchess by name or path; None when it is not there or does not say who it is."""
    path = shutil.which(program)
    if path is None:
        return None
    answers = (recognised(path, _said(path, question)) for question in QUESTIONS)
    return next((found for found in answers if found is not None), None)


def _said(path: str, question: str) -> str:
    try:
        asked = subprocess.run(
            [path, question],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=PATIENCE_SECONDS,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout + asked.stderr


def recognised(path: str, said: str) -> Fastchess | None:
    """Read what it said to -version."""
    for line in said.splitlines():
        if found := _VERSION.search(line):
            return Fastchess(path, tuple(map(int, found[1].split("."))), line.strip())
    return None
