"""Kills server, supervisor, postmaster or backends at random moments of writing; nothing is lost.

    scripts/prove kills [--count N] [--minutes N] [--seed N] [--folder FOLDER]

No kill comes after so many minutes; two hundred are enough. On the same commit, or in a folder that
is named, it goes on where it was interrupted. What it prints at the end is the same for the same
seed and count, but for the numbers of rows and the time.
"""

import argparse
import collections
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from scripts.filing import commit
from scripts.progress import Progress
from tests.faults.campaign import Campaign, Seen, plan

ENOUGH = 200


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/prove kills", description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=12.0)
    parser.add_argument("--seed", type=int, default=1)
    usual = Path(tempfile.gettempdir()) / f"rookery-proof-kills-{commit()}"
    parser.add_argument("--folder", type=Path, default=usual)
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    notes = chosen.folder / f"seed-{chosen.seed}.jsonl"
    chosen.folder.mkdir(parents=True, exist_ok=True)
    done = read(notes)
    began, before = time.monotonic(), len(done)
    told = Progress(chosen.count - before, "kills")
    campaign = Campaign(chosen.folder / f"data-{chosen.seed}")
    try:
        assert not done or campaign.found >= done[-1]["found"], "rows are gone since last time"
        with notes.open("a") as file:
            for number in range(len(done), chosen.count):
                if told.seconds > 60 * chosen.minutes:
                    break
                done.append(note(campaign.play(plan(chosen.seed, number))))
                print(json.dumps(done[-1]), file=file, flush=True)
                told.tell(number + 1 - before, f"{done[-1]['found']:,} rows")
        campaign.finish()
    finally:
        campaign.end()
    if len(done) < min(ENOUGH, chosen.count):
        print(f"{len(done)} kills are too few; once more goes on from here", file=sys.stderr)
        return 1
    report(chosen.seed, done, time.monotonic() - began)
    shutil.rmtree(chosen.folder)
    return 0


def read(notes: Path) -> list[dict[str, Any]]:
    """The rounds before an interruption; an incomplete line is played again."""
    lines = notes.read_text().splitlines(keepends=True) if notes.exists() else []
    return [json.loads(line) for line in lines if line.endswith("\n")]


def note(seen: Seen) -> dict[str, Any]:
    return {
        "number": seen.round.number,
        "victim": seen.round.victim,
        "acknowledged": seen.acknowledged,
        "found": seen.found,
    }


def report(seed: int, done: list[dict[str, Any]], seconds: float) -> None:
    victims = collections.Counter(str(one["victim"]) for one in done)
    print(f"seed {seed}: {len(done)} kills, the last part in {seconds:.0f} s\n")
    print("| killed | times |\n|---|---|")
    for victim, times in sorted(victims.items()):
        print(f"| {victim} | {times} |")
    print(f"\n{done[-1]['found']} rows written; acknowledged rows lost: 0")


if __name__ == "__main__":
    sys.exit(main())
