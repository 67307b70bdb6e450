"""Files a proof that held: its output in a folder that git ignores, and its row in the table of
verdicts, docs/dev/proofs.md."""

import os
import subprocess
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / ".cache" / "proofs"
VERDICTS = ROOT / "docs" / "dev" / "proofs.md"
VERDICT = "verdict: "
"""Lines that a proof prints with this at their beginning are the figures of its row."""


@dataclass(frozen=True, slots=True)
class Page:
    """The facts about a proof that are known before it begins."""

    name: str
    purpose: str
    command: str
    commit: str
    began: datetime

    def text(self, said: str, seconds: float) -> str:
        """Everything it printed, below what was run."""
        took = f"{seconds / 60:.1f} min on {os.cpu_count()} cores"
        ran = f"`{self.command}` at {self.commit}, {self.began:%Y-%m-%d %H:%M} UTC, {took}"
        return f"# {self.name}\n\n{self.purpose}\n\n{ran}\n\n{said}"

    def row(self, said: str, seconds: float) -> str:
        """Its line in the table of verdicts."""
        told = [line[len(VERDICT) :] for line in said.splitlines() if line.startswith(VERDICT)]
        found = "; ".join(("held", *told))
        options = "" if self.command.endswith(f" {self.name}") else f"`{self.command}`, "
        when = f"{self.commit}, {self.began:%Y-%m-%d}, {seconds / 60:.1f} min"
        return f"| {self.name} | {self.purpose} | {found} | {options}{when} |\n"


def file(page: Page, folder: Path, said: str, seconds: float) -> Path:
    """Writes what the proof printed."""
    folder.mkdir(parents=True, exist_ok=True)
    return _write(folder / f"{page.name}.md", page.text(said, seconds))


def file_verdict(page: Page, table: Path, said: str, seconds: float) -> Path:
    """Writes the proof's row in place of its last one, among the others by name."""
    lines = table.read_text().splitlines(keepends=True)
    first = 1 + next(at for at, line in enumerate(lines) if line.startswith("|---"))
    last = next((at for at, line in enumerate(lines) if at >= first and line[0] != "|"), len(lines))
    kept = [line for line in lines[first:last] if not line.startswith(f"| {page.name} |")]
    rows = sorted([*kept, page.row(said, seconds)])
    return _write(table, "".join([*lines[:first], *rows, *lines[last:]]))


def commit() -> str:
    """The commit that is proved, ignoring verdicts that were just written."""
    changed = _git("status", "--porcelain", "--", ":/", ":(exclude,top)docs/dev/proofs.md")
    return (_git("rev-parse", "--short=12", "HEAD") or "?") + ("-dirty" if changed else "")


def _write(path: Path, text: str) -> Path:
    """Writes a file completely or not at all."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(text)
    return unfinished.replace(path)


def _git(*words: str) -> str:
    said = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.strip()
