"""Loads a page in headless Chromium and tells what it made of it."""

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)


@dataclass(frozen=True, slots=True)
class Visit:
    """The document as the browser built it, and what its console complained about."""

    document: str
    complaints: list[str]


class Browser:
    """Starts afresh for each page."""

    def __init__(self, profile: Path) -> None:
        names = ("chromium", "chromium-browser", "google-chrome")
        found = next(filter(None, map(shutil.which, names)), None)
        assert found is not None, "the page tests need Chromium on the PATH"
        self._program = found
        self._profile = profile

    def visit(self, address: str, *flags: str) -> Visit:
        done = subprocess.run(
            [
                self._program,
                *FLAGS,
                f"--user-data-dir={self._profile}",
                *flags,
                "--dump-dom",
                address,
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return Visit(done.stdout, re.findall(r"CONSOLE.*", done.stderr))
