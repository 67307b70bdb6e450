"""Writes the page of a proof: what was run, of which commit, when, for how long, and its output."""

import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs" / "dev" / "proofs"


@dataclass(frozen=True, slots=True)
class Page:
    """The facts about a proof that are known before it begins."""

    name: str
    purpose: str
    command: str
    commit: str
    began: datetime

    def text(self, said: str, seconds: float) -> str:
        took = f"{seconds / 60:.1f} min on {os.cpu_count()} cores"
        when = f"{self.began:%Y-%m-%d %H:%M} UTC"
        head = f"# {self.name}\n\n{self.purpose}\n\n"
        return head + f"`{self.command}` at {self.commit}, {when}, {took}\n\n{said}"


def file(page: Page, folder: Path, said: str, seconds: float) -> Path:
    """Writes the page, completely or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{page.name}.md"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(page.text(said, seconds))
    return unfinished.replace(path)


def commit() -> str:
    """The commit that is proved, ignoring pages of proofs that were just written."""
    changed = _git("status", "--porcelain", "--", ":/", ":(exclude,top)docs/dev/proofs")
    return (_git("rev-parse", "--short=12", "HEAD") or "?") + ("-dirty" if changed else "")


def _git(*words: str) -> str:
    said = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.strip()
