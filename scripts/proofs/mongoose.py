"""Every test of Rookery passes when it is served by rookery-asgi instead of uvicorn.

    scripts/prove mongoose [TIER ...]

Runs the tiers of scripts/test in an environment that has both, with the detection of blocking
calls on. A test process refuses to start where the other server is not available.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from scripts.together import python

ROOT = Path(__file__).resolve().parents[2]
TIERS = ("unit", "storage", "wire", "pages", "acceptance", "faults")
HANGS_SECONDS = 1800
CHOSEN = {"ROOKERY_HTTP": "mongoose", "ROOKERY_DETECT_BLOCKING": "1"}


def run(interpreter: Path, tier: str) -> bool:
    """One tier; says its last line, and all of it when it failed."""
    began = time.monotonic()
    done = subprocess.run(
        [interpreter, "-m", "pytest", "-q", f"tests/{tier}"],
        cwd=ROOT,
        env=os.environ | CHOSEN,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=HANGS_SECONDS,
    )
    lines = done.stdout.splitlines() or ["nothing was said"]
    counts = re.sub(r" in [0-9.]+s.*", "", lines[-1])
    print(f"{tier:12} {counts}, {time.monotonic() - began:.0f} s", flush=True)
    if done.returncode != 0:
        print(done.stdout, file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/prove mongoose", description=__doc__)
    parser.add_argument("tiers", nargs="*", metavar="TIER", default=TIERS)
    interpreter = python()
    held = [run(interpreter, tier) for tier in parser.parse_args().tiers]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
