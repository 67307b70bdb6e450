"""Reports which lines of the packages the measured tiers run, and compares the share with before.

slipcover measures a stage while it runs (scripts/stages.py) and writes a file; these are added up
here. Only what runs in the process of the tests counts, so the tiers whose servers and commands
are processes of their own are not measured.

The share that was reached stands in scripts/coverage.txt. A run that reaches less fails, and so
does a change that lowers the file: it is compared with the last commit's.
"""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".cache" / "coverage"
REACHED = ROOT / "scripts" / "coverage.txt"
MEASURED = ("unit", "storage_1", "storage_2", "wire", "outside")
"""The stages that are measured: it costs each about five seconds."""
MEASURED_FOLDERS = sorted(
    str(each.relative_to(ROOT)) for each in ROOT.glob("packages/*/src/rookery")
)
SLACK = 0.3
"""Per cent by which two runs of the same commit may differ, because of what chance decides."""
WORTH_KEEPING = 0.5

Lines = dict[str, tuple[set[int], set[int]]]


class Unmet(Exception):
    """A stage's requirement is not met; the message says which."""


def figures_of(stage: str) -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    return FOLDER / f"{stage}.json"


def report_coverage() -> str:
    """The table by rooms; raises Unmet if the total is below what was reached before."""
    lines = add_up([figures_of(stage) for stage in MEASURED])
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file, (executed, known) in lines.items():
        package, folder, *below = Path(file).parts[4:]
        room = rooms[f"{package}/{folder}" if package == "server" and below else package]
        room[0] += len(executed)
        room[1] += len(known)
    text = "\n".join(
        f"{name:20} {share(*room):6.1f} %  {room[1]:6} lines"
        for name, room in sorted(rooms.items())
    )
    whole = share(*map(sum, zip(*rooms.values(), strict=True)))
    return f"{text}\nin all               {whole:6.1f} %\n{judge(whole, read_reached(), kept())}"


def judge(whole: float, written: float, before: list[float]) -> str:
    """What the share means; `before` are the figures of the last commits. Raises Unmet."""
    floor = max([written, *before])
    if written < floor:
        raise Unmet(f"scripts/coverage.txt says {written} %, but the last commit's says {floor} %")
    if whole < floor - SLACK:
        raise Unmet(f"fewer lines are tested than before: {whole:.1f} % instead of {floor} %")
    if whole >= floor + WORTH_KEEPING:
        return f"more than the {floor} % of before: write {whole:.1f} into scripts/coverage.txt"
    return f"as before ({floor} %)"


def read_reached() -> float:
    return float(REACHED.read_text())


def kept(root: Path = ROOT) -> list[float]:
    """The figures of the last commit and the one before it, as far as there are any: in CI the
    last commit is the very one that is tried."""
    found = []
    for commit in ("HEAD", "HEAD^"):
        command = ["git", "show", f"{commit}:scripts/coverage.txt"]
        shown = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if shown.returncode == 0:
            found.append(float(shown.stdout))
    return found


def add_up(files: list[Path]) -> Lines:
    """For each file the lines that any tier ran, and all its lines."""
    if absent := [file.stem for file in files if not file.exists()]:
        raise Unmet(f"not measured: {', '.join(absent)}; run them in the same call")
    lines: Lines = {}
    for file in files:
        for name, figures in json.loads(file.read_text())["files"].items():
            executed, known = lines.setdefault(name, (set(), set()))
            executed.update(figures["executed_lines"])
            known.update(figures["executed_lines"], figures["missing_lines"])
    return lines


def share(executed: int, known: int) -> float:
    return 100 * executed / known if known else 100.0


if __name__ == "__main__":
    try:
        print(report_coverage())
    except Unmet as unmet:
        sys.exit(str(unmet))
