"""Autobahn's fuzzing client against an echo: groups of cases, some side by side, each bounded."""

import collections
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

# The longest first, so that all processors are busy to the end: nearly all of the time goes into
# the twelve groups about compression, each of which sends 18,000 messages.
GROUPS = (
    "12.5.*", "12.2.*", "12.3.*", "12.1.*", "13.7.*", "12.4.*", "13.3.*", "13.6.*", "13.5.*",
    "13.1.*", "13.4.*", "13.2.*", "9.*", "6.*", "1.*", "2.*", "3.*", "4.*", "5.*", "7.*", "10.*",
)  # fmt: skip
GROUP_SECONDS = 1200
AGENT = "rookery-asgi"
Cases = dict[str, dict[str, Any]]


def run_group(wstest: str, group: str, port: int, folder: Path) -> Cases:
    """What the client found in one group; nothing when it broke off or did not end."""
    here = folder / group.replace("*", "all")
    here.mkdir()
    spec = {
        "outdir": str(here / "found"),
        "servers": [{"agent": AGENT, "url": f"ws://127.0.0.1:{port}"}],
        "cases": [group],
        "exclude-cases": [],
        "exclude-agent-cases": {},
    }
    (here / "spec.json").write_text(json.dumps(spec))
    command = [wstest, "-m", "fuzzingclient", "-s", str(here / "spec.json")]
    try:
        subprocess.run(command, cwd=here, capture_output=True, check=True, timeout=GROUP_SECONDS)
        found: Cases = json.loads((here / "found/index.json").read_text())[AGENT]
    except (subprocess.SubprocessError, OSError, ValueError, KeyError) as error:
        print(f"autobahn {group}: {error}", file=sys.stderr)
        return {}
    return found


def run_told(wstest: str, group: str, port: int, folder: Path) -> Cases:
    """The same, telling how far it is to whoever waits."""
    began = time.monotonic()
    found = run_group(wstest, group, port, folder)
    seconds = time.monotonic() - began
    print(f"autobahn {group}: {len(found)} cases, {seconds:.0f} s", file=sys.stderr, flush=True)
    return found


def check_autobahn(folder: Path, wstest: str, groups: list[str]) -> bool:
    """Every group must have run, and no case of it may have failed."""
    from tests.serving import serve

    with (
        serve("tests.apps:app", "--no-access-log") as served,
        ThreadPoolExecutor(os.cpu_count() or 1) as side_by_side,
    ):
        runs = [
            side_by_side.submit(run_told, wstest, group, served.port, folder) for group in groups
        ]
        found = {group: run.result() for group, run in zip(groups, runs, strict=True)}
    return report(found)


def report(found: dict[str, Cases]) -> bool:
    """Say what came of it; True when all is well."""
    cases = {name: case for group in found.values() for name, case in group.items()}
    print("autobahn:", dict(collections.Counter(case["behavior"] for case in cases.values())))
    failed = [
        name for name, one in cases.items() if "FAILED" in (one["behavior"], one["behaviorClose"])
    ]
    broken = [group for group, its in found.items() if not its]
    for name in failed:
        print("  FAILED", name)
    for group in broken:
        print("  not run to the end:", group)
    return not failed and not broken
