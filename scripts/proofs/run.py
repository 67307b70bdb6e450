"""Finds a proof by name, runs it and files what it printed."""

import ast
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "scripts" / "proofs"
sys.path.insert(0, str(ROOT))

from scripts.together import build_asgi  # noqa: E402 the scripts are found above


def purpose(path: Path) -> str:
    """The first line of a proof's own description."""
    return (ast.get_docstring(ast.parse(path.read_text())) or "").splitlines()[0]


def known() -> dict[str, Path]:
    return {path.stem: path for path in sorted(PROOFS.glob("*.py")) if path.stem != "run"}


def environment(name: str) -> tuple[str, dict[str, str]]:
    """The interpreter and variables of a proof; the ASGI server's run in its own environment."""
    if name.startswith("asgi_"):
        return str(build_asgi()), dict(os.environ)
    return sys.executable, os.environ | {"PYTHONPATH": str(ROOT)}


def commit() -> str:
    words = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    said = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    return said.stdout.strip() or "?"


def prove(name: str, path: Path, words: list[str]) -> int:
    """Shows the output as it comes; files it only when the proof held."""
    began, of = datetime.now(UTC), commit()
    interpreter, variables = environment(name)
    child = subprocess.Popen(
        [interpreter, "-u", str(path), *words],
        cwd=ROOT,
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    lines = []
    for line in child.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    if child.wait() != 0:
        print(f"scripts/prove: {name} did not hold; docs/proofs is unchanged", file=sys.stderr)
        return 1
    command = " ".join(["scripts/prove", name, *words])
    head = f"# {name}\n\n{purpose(path)}\n\n`{command}` at {of}, {began:%Y-%m-%d %H:%M} UTC\n\n"
    (ROOT / "docs" / "proofs" / f"{name}.md").write_text(head + "".join(lines))
    return 0


def main() -> int:
    words = sys.argv[1:]
    proofs = known()
    if words:
        words[0] = words[0].replace("-", "_")
    if not words or words[0] not in proofs:
        print("usage: scripts/prove NAME [OPTIONS]\n")
        for name, path in proofs.items():
            print(f"  {name:16} {purpose(path)}")
        return 0 if not words or words[0] in ("-h", "--help") else 2
    return prove(words[0], proofs[words[0]], words[1:])


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
